import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { NOW, World } from '../../world.suite.ts'
import { prepareHome } from './home.ts'

let world: World
beforeEach(async () => {
  world = await World.make()
})
afterEach(() => world.remove())

describe('undo', () => {
  it('takes away what was made, folders above it as well', async () => {
    const home = world.path('networks', 'na')
    const { undo } = await prepareHome(home, false, NOW)
    await mkdir(join(home, 'keys'))
    await writeFile(join(home, 'keys', 'root.key'), 'half')
    await undo()
    expect(await readdir(world.folder)).toEqual([])
  })

  it('leaves a folder that was there before, and one that others put something into', async () => {
    await mkdir(world.path('na'))
    const own = await prepareHome(world.path('na'), false, NOW)
    await writeFile(world.path('na', 'half'), '')
    await own.undo()
    expect(await readdir(world.path('na'))).toEqual([])
    const other = await prepareHome(world.path('networks', 'na'), false, NOW)
    await writeFile(world.path('networks', 'others'), '')
    await other.undo()
    expect(await readdir(world.path('networks'))).toEqual(['others'])
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
