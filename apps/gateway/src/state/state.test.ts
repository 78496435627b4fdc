// oxlint-disable max-lines -- every state of one file: created, opened, damaged, locked
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { canonicalJson, readInstant, sha256Hex } from '@chancery/protocol'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { appendEvents, auditRows, eventId, eventText, pendingRows, pruneEvents, completeDelivery } from './audit-log.ts'
import { readCheckpoints, releaseWithdrawn, setSuspect, writeCheckpoint, writeEquivocation } from './checkpoints.ts'
import { StateError, readStateValues } from './state-values.ts'
import { acquireFileLock } from './file-lock.ts'
import { createStateFile, inTransaction, openStateFile } from './state-file.ts'
import { verifyState } from './verify-state.ts'

const MAX_BYTES = 64 * 1024 * 1024
let folder: string
let file: string
let open: DatabaseSync[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chancery-state-'))
  file = join(folder, 'gateway.state')
})
afterEach(() => {
  for (const db of open) if (db.isOpen) db.close()
  open = []
  rmSync(folder, { recursive: true, force: true })
})

function opened(isReadOnly = false): DatabaseSync {
  const db = openStateFile({ file, isReadOnly, maxBytes: MAX_BYTES })
  open.push(db)
  return db
}

const CHECKPOINT = { network: 'n', issuer: 'i', sequence: 7, issued_at: '2026-01-01T00:00:00Z', body: '{"list":7}' }
const ENTRY = { certificate_id: 'cert-1', reason: 'key_compromise', revoked_at: '2026-01-01T00:00:00Z' }

function fill(db: DatabaseSync, events = 3): void {
  inTransaction(db, () => {
    writeCheckpoint(db, { ...CHECKPOINT, gained: [ENTRY], lost: [] })
    const at = '2026-01-01T00:00:00Z'
    appendEvents(
      db,
      Array.from({ length: events }, (_, n) => ({ request_id: `r-${n}`, phase: 'started', at })),
    )
  })
}

describe('creating', () => {
  it('creates valid state that only its owner may use', () => {
    createStateFile(file, fill)
    expect(verifyState(opened()).head_sequence).toBe(3)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).not.toContain(`gateway.state.new-${process.pid}`)
  })

  it('leaves no file when filling fails', () => {
    const failing = (): never => {
      throw new Error('no')
    }
    expect(() => createStateFile(file, failing)).toThrow('no')
    expect(readdirSync(folder)).toEqual([])
  })

  it('never replaces a file and creates no folder', () => {
    writeFileSync(file, 'precious')
    expect(() => createStateFile(file, fill)).toThrow(StateError)
    expect(readFileSync(file, 'utf8')).toBe('precious')
    expect(() => createStateFile(join(folder, 'none', 'state'), fill)).toThrow(StateError)
    expect(existsSync(join(folder, 'none'))).toBe(false)
  })
})

describe('opening', () => {
  it.each([
    ['missing', () => undefined],
    ['no database', () => writeFileSync(file, 'not a state file', { mode: 0o600 })],
    ['another database', () => createOther()],
  ])('refuses state that is %s', (_name, prepare) => {
    prepare()
    const before = existsSync(file)
    expect(() => opened()).toThrow(StateError)
    expect(existsSync(file)).toBe(before)
  })

  function createOther(): void {
    createStateFile(file, (db) => db.exec('pragma application_id = 1'))
  }

  it('refuses a newer schema', () => {
    createStateFile(file, (db) => db.exec('pragma user_version = 2'))
    expect(() => opened()).toThrow('schema version 2')
  })
})

describe('checkpoints', () => {
  it('store the list, the withdrawn revocations and the suspect mark together', () => {
    createStateFile(file, fill)
    const db = opened()
    inTransaction(db, () =>
      writeCheckpoint(db, {
        ...CHECKPOINT,
        sequence: 8,
        gained: [{ ...ENTRY, certificate_id: 'cert-2' }],
        lost: ['cert-1'],
      }),
    )
    inTransaction(db, () => setSuspect(db, 'n', 'i', true))
    verifyState(db)
    const [stored] = readCheckpoints(db)
    expect(stored).toMatchObject({ sequence: 8, suspect: true, withdrawn: [{ certificate_id: 'cert-2' }] })
  })

  it('store the same proof once', () => {
    createStateFile(file, fill)
    const db = opened()
    const proof = { network: 'n', issuer: 'i', sequence: 7, seen_at: 't', held: 'a', offered: 'b' }
    inTransaction(db, () => writeEquivocation(db, proof))
    inTransaction(db, () => writeEquivocation(db, { ...proof, seen_at: 'later' }))
    expect(db.prepare('select count(*) as count from equivocations').get()).toEqual({ count: 1 })
    verifyState(db)
  })

  it('store at most eight proofs of one issuer', () => {
    createStateFile(file, fill)
    const db = opened()
    const proof = { network: 'n', issuer: 'i', sequence: 7, seen_at: 't', held: 'a' }
    for (let n = 0; n < 12; n += 1) inTransaction(db, () => writeEquivocation(db, { ...proof, offered: `b${n}` }))
    inTransaction(db, () => writeEquivocation(db, { ...proof, issuer: 'another', offered: 'b' }))
    const counted = db.prepare('select issuer, count(*) as count from equivocations group by issuer order by issuer')
    expect(counted.all()).toEqual([
      { issuer: 'another', count: 1 },
      { issuer: 'i', count: 8 },
    ])
    expect(readCheckpoints(db)[0]?.suspect).toBe(true)
    verifyState(db)
  })

  it('release a withdrawn revocation only', () => {
    createStateFile(file, fill)
    const db = opened()
    expect(inTransaction(db, () => releaseWithdrawn(db, 'n', 'i', 'cert-9'))).toBe(false)
    expect(inTransaction(db, () => releaseWithdrawn(db, 'n', 'i', 'cert-1'))).toBe(true)
    expect(readCheckpoints(db)[0]?.withdrawn).toEqual([])
    verifyState(db)
  })
})

describe('audit', () => {
  it('counts from one, links every event and gives stable ids', () => {
    createStateFile(file, fill)
    const rows = [...auditRows(opened(), 99)]
    expect(rows.map(({ sequence }) => sequence)).toEqual([1, 2, 3])
    let previous: string | null = null
    for (const row of rows) {
      const { hash, ...event } = JSON.parse(eventText(row)) as { hash: string; prev_hash: string | null }
      expect(event.prev_hash).toBe(previous)
      // Computed again from the delivered form, as by a collector.
      expect(sha256Hex(canonicalJson(event as never))).toBe(hash)
      previous = hash
    }
    expect(rows.map(eventId)).toEqual(['r-0:started', 'r-1:started', 'r-2:started'])
  })

  it('returns the oldest first; an event refused ten times no longer blocks others', () => {
    createStateFile(file, (db) => fill(db, 5))
    const db = opened()
    const waiting = (): number[] => pendingRows(db, 2, 'waiting').map(({ sequence }) => sequence)
    expect(waiting()).toEqual([1, 2])
    inTransaction(db, () => completeDelivery(db, [2], [1]))
    expect(waiting()).toEqual([1, 3])
    const rejected = Array.from({ length: 10 }, () => inTransaction(db, () => completeDelivery(db, [], [1])))
    // The tenth attempt moves it to the rejected queue, once.
    expect(rejected).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 0])
    expect(waiting()).toEqual([3, 4])
    inTransaction(db, () => completeDelivery(db, [3, 4, 5], []))
    expect(waiting()).toEqual([])
    expect(pendingRows(db, 2, 'rejected').map(({ sequence }) => sequence)).toEqual([1])
    verifyState(db)
  })

  it('returns at most a mebibyte at once, and a larger event alone', () => {
    createStateFile(file, () => undefined)
    const db = opened()
    const sizes = [600_000, 400_000, 100_000, 2_000_000, 1]
    const events = sizes.map((size, n) => ({ request_id: `r-${n}`, phase: 'completed', filler: 'x'.repeat(size) }))
    inTransaction(db, () => appendEvents(db, events))
    const handed: number[][] = []
    for (;;) {
      const sequences = pendingRows(db, 100, 'waiting').map(({ sequence }) => sequence)
      if (sequences.length === 0) break
      handed.push(sequences)
      inTransaction(db, () => completeDelivery(db, sequences, []))
    }
    expect(handed).toEqual([[1, 2], [3], [4], [5]])
  })

  it('removes acknowledged events only, and the chain still verifies', () => {
    createStateFile(file, (db) => fill(db, 5))
    const db = opened()
    const later = readInstant('2026-02-01T00:00:00Z') ?? 0n
    expect(inTransaction(db, () => pruneEvents(db, { before: later }, 100))).toBeUndefined()
    inTransaction(db, () => completeDelivery(db, [1, 2, 4], []))
    const pruned = inTransaction(db, () => pruneEvents(db, { before: later }, 100))
    expect(pruned).toMatchObject({ removed_through: 2, removed_count: 2 })
    expect(readStateValues(db).first_prev_hash).toBe(pruned?.removed_hash)
    verifyState(db)
    const young = readInstant('2025-01-01T00:00:00Z') ?? 0n
    inTransaction(db, () => completeDelivery(db, [3, 5], []))
    expect(inTransaction(db, () => pruneEvents(db, { before: young }, 100))).toBeUndefined()
  })

  it('a write beyond the capacity fails and changes nothing', () => {
    createStateFile(file, fill)
    const db = openStateFile({ file, isReadOnly: false, maxBytes: statSync(file).size + 8192 })
    open.push(db)
    const long = { event_id: 'x', filler: 'y'.repeat(100_000) }
    expect(() => inTransaction(db, () => appendEvents(db, [long]))).toThrow('full')
    expect(verifyState(db).head_sequence).toBe(3)
  })
})

describe('damage', () => {
  const edits: readonly (readonly [string, string])[] = [
    ['a changed revocation', "update withdrawn set certificate_id = 'cert-2'"],
    ['a removed revocation', 'delete from withdrawn'],
    ['a changed list', "update checkpoints set body = '{}'"],
    ['a lowered sequence', 'update checkpoints set sequence = 6'],
    ['a cleared suspect mark', 'update checkpoints set suspect = 1'],
    ['a changed event', "update audit set body = replace(body, 'r-1', 'r-9') where sequence = 2"],
    ['a removed event', 'delete from audit where sequence = 2'],
    ['a cut chain', 'delete from audit where sequence = 3'],
    ['an event that will not be delivered', 'delete from outbox where sequence = 2'],
    ['changed sealed values', 'update ledger set head_sequence = 2'],
    ['no sealed values', 'delete from ledger'],
    ['a renamed column', 'alter table outbox rename column attempts to attemptt'],
    ['a further table', 'create table other (value text)'],
  ]
  it.each(edits)('%s is detected', (_name, sql) => {
    createStateFile(file, fill)
    const db = opened()
    db.exec(sql)
    expect(() => verifyState(db)).toThrow(StateError)
  })

  it('300 random flips and cuts are refused, unless they change no used byte', () => {
    createStateFile(file, (db) => fill(db, 40))
    const whole = readFileSync(file)
    const facts = (): string => {
      const db = opened(true)
      try {
        verifyState(db)
        return JSON.stringify([readCheckpoints(db), [...auditRows(db, 99)], pendingRows(db, 99, 'waiting')])
      } finally {
        db.close()
      }
    }
    const expected = facts()
    let refused = 0
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), fc.boolean(), (at, bits, isCut) => {
        const damaged = Buffer.from(isCut ? whole.subarray(0, at) : whole)
        if (!isCut) damaged[at] = (damaged[at] ?? 0) ^ bits
        writeFileSync(file, damaged, { mode: 0o600 })
        try {
          expect(facts()).toBe(expected)
        } catch (error) {
          if (!(error instanceof StateError)) throw error
          refused += 1
        }
      }),
      { numRuns: 300 },
    )
    expect(refused).toBeGreaterThan(150)
  })
})

describe('ownership', () => {
  it('is refused while another process has it, and free after that process is killed', () => {
    createStateFile(file, fill)
    const holder = `
      const { acquireFileLock } = await import(${JSON.stringify(new URL('./file-lock.ts', import.meta.url).href)})
      acquireFileLock(process.argv[1])
      const second = (await import('node:child_process')).spawnSync(process.execPath, ['--conditions=development', '-e',
        "import(" + ${JSON.stringify(JSON.stringify(new URL('./file-lock.ts', import.meta.url).href))} + ").then(({ acquireFileLock }) => { try { acquireFileLock(process.argv[1]); process.exit(0) } catch (error) { process.exit(error.name === 'StateError' ? 7 : 8) } })", process.argv[1]])
      console.log(second.status)
      process.kill(process.pid, 'SIGKILL')
    `
    const run = spawnSync(process.execPath, ['--conditions=development', '--input-type=module', '-e', holder, file])
    expect(run.stdout.toString().trim()).toBe('7')
    expect(run.signal).toBe('SIGKILL')
    acquireFileLock(file).release()
  })

  it('leaves the state readable for a check at the same time', () => {
    createStateFile(file, fill)
    const ownership = acquireFileLock(file)
    expect(verifyState(opened(true)).head_sequence).toBe(3)
    ownership.release()
  })

  it('is refused for missing state', () => {
    expect(() => acquireFileLock(file)).toThrow(StateError)
    expect(readdirSync(folder)).toEqual([])
  })
})
