import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NOW, World } from '../../world.suite.ts'
import { prepareHome } from './home.ts'

let world: World
beforeEach(async () => {
  world = await World.make()
})
afterEach(() => world.remove())

describe('undo', () => {
  it('leaves an empty folder, so that the next run can start', async () => {
    const home = world.path('na')
    const { undo } = await prepareHome(home, false, NOW)
    await mkdir(world.path('na', 'keys'))
    await writeFile(world.path('na', 'keys', 'root.key'), 'half')
    await undo()
    expect(await readdir(home)).toEqual([])
  })

  it('brings the earlier folder back', async () => {
    const home = world.path('na')
    await mkdir(home)
    await writeFile(world.path('na', 'genesis.json'), 'earlier')
    const { undo, movedTo } = await prepareHome(home, true, NOW)
    expect(movedTo).toBeDefined()
    await writeFile(world.path('na', 'half'), '')
    await undo()
    expect(await readdir(home)).toEqual(['genesis.json'])
    expect(await readdir(world.folder)).toEqual(['na'])
  })
})
