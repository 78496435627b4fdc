import { describe, expect, it } from 'vitest'
import { EXCLUDED_ROUTES } from '../gateway/excluded-routes.ts'
import { ALL_ROUTES } from './index.ts'

const catalogue = ALL_ROUTES.flatMap((route) => (route.gateway ? [{ route, gateway: route.gateway }] : []))

const counted = (...releases: readonly (string | undefined)[]): number =>
  catalogue.filter(({ gateway }) => releases.includes(gateway.since)).length

describe('gateway catalogue', () => {
  it('has the 59 operations of the first catalogue and the 21 later ones (protocol/gateway 6)', () => {
    expect([counted(undefined), counted('v0.58', 'v0.59')]).toEqual([59, 21])
  })

  it('dates boundary policies to v0.58 and the evidence store to v0.59', () => {
    for (const { gateway } of catalogue) {
      if (gateway.group === 'boundary_policy') expect(gateway.since).toBe('v0.58')
      else if (gateway.since === 'v0.60') continue
      else if (gateway.group === 'evidence_store') expect(gateway.since).toBe('v0.59')
      else expect(gateway.since).toBeUndefined()
    }
  })

  it('never uses an operation id twice', () => {
    expect(new Set(catalogue.map(({ gateway }) => gateway.operation)).size).toBe(catalogue.length)
  })

  it('forwards query names in name order', () => {
    for (const { gateway } of catalogue)
      expect(gateway.query ?? [], gateway.operation).toEqual((gateway.query ?? []).toSorted())
  })

  it('leaves no authority route undecided: each is catalogued, or excluded for a written reason', () => {
    const left = ALL_ROUTES.filter((route) => route.gateway === undefined).map((route) => route.id)
    expect(left.toSorted()).toEqual(Object.keys(EXCLUDED_ROUTES).toSorted())
    for (const reason of Object.values(EXCLUDED_ROUTES)) expect(reason).toMatch(/^[A-Z].+\.$/)
  })

  it('excludes on purpose what describes pages, files and the process', () => {
    const named = ['GET /metrics', 'GET /healthz', 'GET /swagger.json', 'GET /surfaces'] as const
    for (const id of named) expect(EXCLUDED_ROUTES).toHaveProperty([id])
    for (const { id, response: answer } of ALL_ROUTES)
      if (answer === 'html' || answer === 'static') expect(EXCLUDED_ROUTES).toHaveProperty([id])
  })
})
