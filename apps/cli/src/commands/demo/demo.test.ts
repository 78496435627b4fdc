import { once } from 'node:events'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, type Server, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findPortProblem } from '../../connection/ports.ts'
import { NOW, TestContext } from '../../testing/run-command.suite.ts'
import { type DemoState, findDemoState, lockDemo, makeDemoFolder, writeDemoState } from './demo-state.ts'

let setup: TestContext
beforeEach(async () => {
  setup = await TestContext.make()
})
afterEach(() => setup.remove())

const STATE: DemoState = { kind: 'one', port: 4711, createdAt: NOW, isComplete: true }

async function demoFolder(state: DemoState): Promise<string> {
  await mkdir(setup.path('demo'))
  await writeDemoState(setup.path('demo'), state)
  return setup.path('demo')
}

/** Listens on a port. The ports just below it are free: the demo tries them first. */
async function takePort(below: number): Promise<{ readonly taken: Server; readonly port: number }> {
  for (;;) {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const lower = Array.from({ length: below }, (_, i) => port - 1 - i)
    const problems = await Promise.all(lower.map((each) => findPortProblem('127.0.0.1', each)))
    if (problems.every((problem) => problem === undefined)) return { taken, port }
    taken.close()
  }
}

describe('a port that is taken', () => {
  it.each([
    ['--nodes 1', 0, 'authority'],
    ['--gateway', 1, 'gateway'],
    ['--gateway', 2, 'service'],
    ['--two', 1, 'authority of the freight company'],
  ])('is named before anything is made, with %s', async (flags, offset, use) => {
    const { taken, port } = await takePort(offset)
    try {
      const { code, stderr } = await setup.run(`demo --home demo --port ${port - offset} ${flags}`)
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`Port ${port} cannot be used for the ${use}: another program uses it.`),
      ])
      expect(stderr).toContain('or choose another port: --port ')
      expect(await readdir(setup.folder)).toEqual([])
    } finally {
      taken.close()
    }
  })
})

describe('a folder', () => {
  it('with other files is refused, also with --reset, and stays as it is', async () => {
    await mkdir(setup.path('demo'))
    await writeFile(setup.path('demo', 'genesis.json'), 'real')
    const { code, stderr } = await setup.run('demo --home demo --reset')
    expect([code, stderr]).toEqual([1, expect.stringContaining('./demo contains other files and no demo.')])
    expect(await readFile(setup.path('demo', 'genesis.json'), 'utf8')).toBe('real')
  })

  it.each([
    ['--reset', STATE],
    ['--nodes 1', { ...STATE, isComplete: false }],
  ])('with a demo and files of a person is not deleted with %s', async (flag, state) => {
    const home = await demoFolder(state)
    await writeFile(setup.path('demo', 'thesis.txt'), 'mine')
    const { code, stderr } = await setup.run(`demo --home demo ${flag}`)
    expect([code, stderr]).toEqual([1, expect.stringContaining('files that the demo did not make: thesis.txt.')])
    expect((await readdir(home)).filter((name) => !name.startsWith('demo.lock'))).toEqual(['demo.json', 'thesis.txt'])
  })

  it('of a new demo is locked before anything of the earlier one is deleted', async () => {
    const home = await demoFolder(STATE)
    await writeFile(setup.path('demo', 'genesis.json'), 'earlier')
    const release = lockDemo(home)
    await expect(makeDemoFolder(home, STATE)).rejects.toThrow('Another process uses')
    expect(await readFile(setup.path('demo', 'genesis.json'), 'utf8')).toBe('earlier')
    release?.()
    await makeDemoFolder(home, STATE)
    expect((await readdir(home)).filter((name) => !name.startsWith('demo.lock'))).toEqual(['demo.json'])
    expect(await findDemoState(home)).toMatchObject({ isComplete: false })
  })

  it('with a wrong port in demo.json has no demo', async () => {
    await demoFolder({ ...STATE, port: 70_000 })
    expect((await setup.run('demo --home demo')).stderr).toContain('contains other files and no demo')
  })

  it('with a demo of two companies is not continued as one network', async () => {
    await demoFolder({ ...STATE, kind: 'two' })
    const { code, stderr } = await setup.run('demo --home demo')
    expect([code, stderr]).toEqual([1, expect.stringContaining('./demo contains a demo of two companies.')])
    expect(stderr).toContain('Add --two to continue it, add --reset to delete it')
  })

  it('with a demo that runs is refused, also with --reset, with its address', async () => {
    const release = lockDemo(await demoFolder(STATE))
    try {
      const { code, stderr } = await setup.run('demo --home demo --reset')
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('The demo in ./demo is running already, at http://127.0.0.1:4711/.'),
      ])
    } finally {
      release?.()
    }
  })

  it('with two companies keeps its ports', async () => {
    await demoFolder({ ...STATE, kind: 'two' })
    const { code, stderr } = await setup.run('demo --two --home demo --port 4000')
    expect([code, stderr]).toEqual([2, expect.stringContaining('This demo uses port 4711.')])
  })
})
