import { describe, expect, it } from 'vitest'
import { DiskFullError } from './errors.ts'
import { WriteProbe } from './probe-write.ts'

const FULL = new Error('full')

function kit() {
  const state = {
    nowMs: 0,
    commits: 0,
    undone: 0,
    growths: 0,
    commitError: undefined as unknown,
    undoneError: undefined as unknown,
    growError: undefined as unknown,
  }
  const probe = new WriteProbe({
    commit: async () => {
      state.commits += 1
      if (state.commitError !== undefined) throw state.commitError
    },
    writeUndone: async () => {
      state.undone += 1
      if (state.undoneError !== undefined) throw state.undoneError
    },
    grow: async () => {
      state.growths += 1
      if (state.growError !== undefined) throw state.growError
    },
    isFull: (error) => error === FULL,
    nowMs: () => state.nowMs,
  })
  return { state, probe }
}

describe('WriteProbe', () => {
  it('commits one row in ten seconds, writes one in each second between, and grows a file in thirty, however many ask', async () => {
    const { state, probe } = kit()
    await Promise.all(Array.from({ length: 1000 }, () => probe.check()))
    for (; state.nowMs < 60_000; state.nowMs += 100) await probe.check()
    expect([state.commits, state.undone, state.growths]).toEqual([6, 54, 2])
  })

  it('asks a database that failed once in a second, however many ask', async () => {
    const { state, probe } = kit()
    state.commitError = new Error('gone')
    for (; state.nowMs < 5000; state.nowMs += 50) await expect(probe.check()).rejects.toThrow('gone')
    expect(state.commits).toBe(5)
    state.commitError = undefined
    await expect(probe.check()).resolves.toBeUndefined()
  })

  it('reports within a second that nothing can be written, and commits before it reports otherwise', async () => {
    const { state, probe } = kit()
    await probe.check()
    state.undoneError = new Error('held by another')
    state.nowMs = 1000
    await expect(probe.check()).rejects.toThrow('held by another')
    state.commitError = new Error('still held')
    state.nowMs = 2000
    await expect(probe.check()).rejects.toThrow('still held')
    state.commitError = undefined
    state.nowMs = 3000
    await expect(probe.check()).resolves.toBeUndefined()
  })

  it('asks at once after a connection was lost', async () => {
    const { state, probe } = kit()
    await probe.check()
    state.commitError = new Error('a standby')
    await probe.check()
    probe.doubt()
    await expect(probe.check()).rejects.toThrow('a standby')
  })

  it("prefers a caller's write that found a full disk to its own small row", async () => {
    const { state, probe } = kit()
    await probe.check()
    expect(() => probe.refused(FULL)).toThrow(FULL)
    await expect(probe.check()).rejects.toBeInstanceOf(DiskFullError)
    state.nowMs = 9999
    await expect(probe.check()).rejects.toBeInstanceOf(DiskFullError)
    state.nowMs = 10_000
    await expect(probe.check()).resolves.toBeUndefined()
    state.growError = FULL
    expect(() => probe.refused(FULL)).toThrow(FULL)
    state.nowMs = 60_000
    await expect(probe.check()).rejects.toBeInstanceOf(DiskFullError)
  })

  it('stays ready where a role, a schema or a trigger forbids the table that shows whether files grow', async () => {
    const { state, probe } = kit()
    state.growError = new Error('no schema has been selected to create in')
    await expect(probe.check()).resolves.toBeUndefined()
    for (; state.nowMs < 60_000; state.nowMs += 1000) await probe.check()
    expect(state.growths).toBe(2)
    state.growError = FULL
    await expect(probe.check()).rejects.toBeInstanceOf(DiskFullError)
  })

  it('takes no other failure of a caller for a full disk', async () => {
    const { probe } = kit()
    await probe.check()
    expect(() => probe.refused(new Error('constraint'))).toThrow('constraint')
    await expect(probe.check()).resolves.toBeUndefined()
  })
})
