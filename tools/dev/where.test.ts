import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ALL_ROUTES, GATEWAY_ROUTES } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { SERVED_ROUTES, findServedRoutes } from './where.ts'

const ROOT = join(import.meta.dirname, '..', '..')

describe('npm run where', () => {
  it('knows every route of both services', () => {
    expect(SERVED_ROUTES).toHaveLength(ALL_ROUTES.length + Object.keys(GATEWAY_ROUTES).length)
  })

  it('finds each route by its id, and the file that its feature binds to it', () => {
    const wrong = SERVED_ROUTES.filter(({ service, method, path, file }) => {
      const found = findServedRoutes(`${method} ${path}`).some((route) => route.service === service)
      const index = readFileSync(join(ROOT, dirname(file), 'index.ts'), 'utf8')
      return !found || !index.includes(`from './${basename(file)}'`)
    })
    expect(wrong).toEqual([])
  })

  it('finds a route by a real path, and by its path alone', () => {
    const filesOf = (wanted: string): string[] => findServedRoutes(wanted).map(({ file }) => file)
    expect(filesOf('POST /join')).toEqual(['apps/authority/src/features/enrollment/join.ts'])
    expect(filesOf('GET /v1/networks/NET/services/list-agents')).toEqual(['apps/gateway/src/features/proxy/forward.ts'])
    expect(filesOf('/verify/batch')).toEqual(['apps/gateway/src/features/verify/verify-batch.ts'])
    expect(filesOf('/health')).toEqual([
      'apps/authority/src/features/health/health.ts',
      'apps/gateway/src/features/operations/health.ts',
    ])
    expect(filesOf('GET /nowhere')).toEqual([])
  })
})
