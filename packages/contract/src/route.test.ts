import { describe, expect, it } from 'vitest'
import { route, type RouteFacts, routes } from './route.ts'

const facts = {
  access: 'operator:standard',
  limit: 'admin',
  stability: 'stable',
  success: 200,
  response: 'json',
  summary: 'Something',
  purpose: 'Does something.',
} as const satisfies RouteFacts

describe('route', () => {
  it('reads method, path and parameters from the id and keeps the facts', () => {
    expect(route('POST /admin/things/{thing_id}/parts/{part_id}', facts)).toEqual({
      ...facts,
      id: 'POST /admin/things/{thing_id}/parts/{part_id}',
      method: 'POST',
      path: '/admin/things/{thing_id}/parts/{part_id}',
      params: ['thing_id', 'part_id'],
    })
  })

  it('gives a path without braces no parameters', () => {
    expect(route('GET /', facts)).toMatchObject({ method: 'GET', path: '/', params: [] })
  })

  it('keeps literal types, from which handlers are typed', () => {
    const built = route('DELETE /things/{thing_id}', facts)
    const access: 'operator:standard' = built.access
    const method: 'DELETE' = built.method
    const params: readonly 'thing_id'[] = built.params
    expect([access, method, params]).toEqual(['operator:standard', 'DELETE', ['thing_id']])
  })
})

describe('routes', () => {
  it('builds every entry under its own name', () => {
    const table = routes({
      list: { id: 'GET /things', ...facts },
      find: { id: 'GET /things/{thing_id}', ...facts, limit: 'none' },
    })
    expect(Object.keys(table)).toEqual(['list', 'find'])
    expect(table.list.limit).toBe('admin')
    expect(table.find).toMatchObject({ id: 'GET /things/{thing_id}', limit: 'none', params: ['thing_id'] })
  })

  it('refuses at compile time an entry without its facts or with facts that do not exist', () => {
    // @ts-expect-error: "no limit" must be written out
    const unlimited = routes({ list: { id: 'GET /things', ...facts, limit: undefined } })
    // @ts-expect-error: a misspelt fact would be ignored in silence
    const misspelt = routes({ list: { id: 'GET /things', ...facts, bodyLimt: 'node' } })
    // @ts-expect-error: a status for a code that does not exist
    const unknownCode = routes({ list: { id: 'GET /things', ...facts, statuses: { no_such_code: 404 } } })
    // The compiler checks this; at run time all three are plain tables.
    expect([unlimited, misspelt, unknownCode].map((table) => Object.keys(table))).toEqual([
      ['list'],
      ['list'],
      ['list'],
    ])
  })
})
