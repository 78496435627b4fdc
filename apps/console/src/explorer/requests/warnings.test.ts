import type { Mesh } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { type GatewayDescription, findWarnings } from './warnings.ts'

const ON = { durable_crl_state: true, durable_audit: true, audit_delivery: true, shared_quotas: true, mtls: true }
const about = (mode: string, off: Readonly<Record<string, boolean>> = {}): GatewayDescription =>
  ({ mode, security_capabilities: { ...ON, oidc: false, ...off } }) as unknown as GatewayDescription
const EMPTY = { networks: [], synchronization: [] } as unknown as Mesh
const namesOf = (...given: Parameters<typeof findWarnings>): readonly string[] =>
  findWarnings(...given).map(({ name }) => name)

describe('warnings of a gateway', () => {
  it('are none when every protection is on', () => {
    expect(namesOf(about('production'), EMPTY, true)).toEqual([])
  })

  it('say that the networks could not be read', () => {
    expect(namesOf(about('production'), undefined, true)).toEqual(['mesh'])
  })

  it('name development mode, plain HTTP and each protection that is off', () => {
    expect(namesOf(about('development', { durable_audit: false, mtls: false }), EMPTY, false)).toEqual([
      'mode',
      'plain_http',
      'durable_audit',
      'mtls',
    ])
  })

  it('name networks that do not respond, old lists, and old feeds', () => {
    const mesh = {
      networks: [
        { id: 'A', available: false, trust_ready: false },
        { id: 'B', available: true, trust_ready: false },
        { id: 'C', available: true, trust_ready: true },
      ],
      synchronization: [
        { consumer: 'A', publisher: 'B', status: 'behind' },
        { consumer: 'B', publisher: 'A', status: 'current' },
      ],
    } as unknown as Mesh
    expect(findWarnings(about('production'), mesh, true).map(({ text }) => text)).toEqual([
      'A does not respond.',
      'The revocation list of B is not current.',
      'The feed of B at A is older than the published one.',
    ])
  })
})
