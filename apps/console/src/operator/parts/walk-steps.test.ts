import { expect, it, vi } from 'vitest'
import { type Walk, type WalkPage, findStep, neighboursOf } from './walk-steps.ts'

const PAGES: readonly WalkPage[] = [
  { hrefs: ['/nodes/a', '/nodes/b'], cursors: [], nextCursor: 'c1' },
  { hrefs: ['/nodes/c'], cursors: ['c1'], nextCursor: null },
]
const pageAt = (index: number): WalkPage => PAGES[index] ?? { hrefs: [], cursors: [], nextCursor: null }
const load = vi.fn<Walk['load']>((cursors) => Promise.resolve(pageAt(cursors.length)))
const walkAt = (page: number): Walk => ({ ...pageAt(page), list: '/nodes?state=silent', load })

it('steps inside a page of the list without a read', async () => {
  expect((await findStep(walkAt(0), '/nodes/a', 1))?.href).toBe('/nodes/b')
  expect((await findStep(walkAt(0), '/nodes/b', -1))?.href).toBe('/nodes/a')
  expect(load).not.toHaveBeenCalled()
})

it('reads the next page after the last row, and the page before it on the way back', async () => {
  const next = await findStep(walkAt(0), '/nodes/b', 1)
  expect([next?.href, next?.walk.cursors, next?.walk.list]).toEqual(['/nodes/c', ['c1'], '/nodes?state=silent'])
  const back = await findStep(next?.walk ?? walkAt(0), '/nodes/c', -1)
  expect([back?.href, back?.walk.cursors]).toEqual(['/nodes/b', []])
  expect(load.mock.calls).toEqual([[['c1']], [[]]])
})

it('ends at the ends of the list, and takes no step from a page that is not in it', async () => {
  expect(await findStep(walkAt(1), '/nodes/c', 1)).toBeUndefined()
  expect(await findStep(walkAt(0), '/nodes/a', -1)).toBeUndefined()
  expect(await findStep(walkAt(0), '/nodes/x', 1)).toBeUndefined()
  expect(neighboursOf(walkAt(0), '/nodes/a')).toEqual({ hasPrevious: false, hasNext: true })
  expect(neighboursOf(walkAt(1), '/nodes/c')).toEqual({ hasPrevious: true, hasNext: false })
  expect(neighboursOf(walkAt(0), '/nodes/x')).toBeUndefined()
  expect(neighboursOf(undefined, '/nodes/a')).toBeUndefined()
})
