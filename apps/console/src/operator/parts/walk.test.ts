import { afterEach, beforeEach, expect, it, vi } from 'vitest'

beforeEach(() => {
  vi.stubGlobal('location', { pathname: '/operator/nodes', search: '?state=silent' })
  vi.stubGlobal('history', { state: null })
})
afterEach(() => {
  vi.unstubAllGlobals()
})

it.each([
  ['a list without rows', [], (row: string) => `/operator/nodes/${row}`],
  ['rows that open over the list', ['b'], (row: string) => `/operator/nodes?open=${row}`],
])('ends the walk of the former rows at %s', async (_name, rows, rowHref) => {
  const { noteWalk, walk } = await import('./walk.ts')
  const load = (): Promise<{ rows: string[]; nextCursor: null }> => Promise.resolve({ rows: [], nextCursor: null })
  noteWalk({ rowHref: (row: string) => `/operator/nodes/${row}`, load }, { rows: ['a'], nextCursor: null }, [], 25)
  expect(walk.get()).toMatchObject({ list: '/operator/nodes?state=silent', hrefs: ['/operator/nodes/a'] })
  noteWalk({ rowHref, load }, { rows, nextCursor: null }, [], 25)
  expect(walk.get()).toBeUndefined()
})
