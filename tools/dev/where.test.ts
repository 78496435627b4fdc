import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ALL_ROUTES, GATEWAY_ROUTES } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { SERVED_ROUTES, findServedRoutes } from './where.ts'

const ROOT = join(import.meta.dirname, '..', '..')

describe('npm run where', () => {
  it('knows every route of both services', () => {
    expect(SERVED_ROUTES).toHaveLength(ALL_ROUTES.length + Object.keys(GATEWAY_ROUTES).length)
  })

  it('finds each route by its id, and the line of its function', () => {
    const wrong = SERVED_ROUTES.filter(({ service, method, path, place }) => {
      const found = findServedRoutes(`${method} ${path}`).some((route) => route.service === service)
      const [file = '', line] = place.split(':')
      const text = readFileSync(join(ROOT, file), 'utf8').split('\n')[Number(line) - 1] ?? ''
      return !found || !/^(?:export |  )?(?:async )?(?:function|const) \w+/.test(text)
    })
    expect(wrong).toEqual([])
  })

  it('finds a route by a real path, and by its path alone', () => {
    const filesOf = (wanted: string): string[] =>
      findServedRoutes(wanted).map(({ place }) => place.replace(/:\d+$/, ''))
    expect(filesOf('POST /join')).toEqual(['apps/authority/src/features/enrollment/join.ts'])
    expect(filesOf('GET /v1/networks/NET/services/list-agents')).toEqual(['apps/gateway/src/features/proxy/index.ts'])
    expect(filesOf('/verify/batch')).toEqual(['apps/gateway/src/features/verify/verify-batch.ts'])
    const folders = ['apps/authority/src/features/health', 'apps/gateway/src/features/operations']
    expect(filesOf('/health').map((file) => dirname(file))).toEqual(folders)
    expect(filesOf('GET /nowhere')).toEqual([])
  })
})
