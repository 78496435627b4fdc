import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NOW, TestContext } from '../../testing/run-command.suite.ts'
import { prepareHome } from './home.ts'

let setup: TestContext
beforeEach(async () => {
  setup = await TestContext.make()
})
afterEach(() => setup.remove())

describe('undo', () => {
  it('takes away what was made, folders above it as well', async () => {
    const home = setup.path('networks', 'na')
    const { undo } = await prepareHome(home, false, NOW)
    await mkdir(join(home, 'keys'))
    await writeFile(join(home, 'keys', 'root.key'), 'half')
    await undo()
    expect(await readdir(setup.folder)).toEqual([])
  })

  it('leaves a folder that was there before, and one that others put something into', async () => {
    await mkdir(setup.path('na'))
    const own = await prepareHome(setup.path('na'), false, NOW)
    await writeFile(setup.path('na', 'half'), '')
    await own.undo()
    expect(await readdir(setup.path('na'))).toEqual([])
    const other = await prepareHome(setup.path('networks', 'na'), false, NOW)
    await writeFile(setup.path('networks', 'others'), '')
    await other.undo()
    expect(await readdir(setup.path('networks'))).toEqual(['others'])
  })

  it('brings the earlier folder back', async () => {
    const home = setup.path('na')
    await mkdir(home)
    await writeFile(setup.path('na', 'genesis.json'), 'earlier')
    const { undo, movedTo } = await prepareHome(home, true, NOW)
    expect(movedTo).toBeDefined()
    await writeFile(setup.path('na', 'half'), '')
    await undo()
    expect(await readdir(home)).toEqual(['genesis.json'])
    expect(await readdir(setup.folder)).toEqual(['na'])
  })
})
