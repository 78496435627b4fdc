import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Route, agents, crl, enrollment } from '@chancery/contract'
import type { Call } from '@chancery/service-kit'
import { startTestAuthority } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { bindingsOf } from '../features.ts'
import { REPLICA_ROUTES, noteChanges } from './replica-routes.ts'

const PAGE = join(import.meta.dirname, '../../../../docs/operate/read-replicas.md')
const LISTED: readonly string[] = REPLICA_ROUTES.map((route) => route.id)

describe('routes that a replica may answer', () => {
  it('are those of the table, and no others', async () => {
    const na = await startTestAuthority()
    const { open } = bindingsOf(na.features, na.settings)
    const bound = open.filter((binding) => 'isReplicaRead' in binding).map(({ route }) => route.id)
    await na.stop()
    expect(bound.toSorted()).toEqual(LISTED.toSorted())
  })

  it('only read', () => {
    for (const { id, method } of REPLICA_ROUTES) expect(method, id).toBe('GET')
  })

  /** By hand: an answer that grants, refuses or says what is current must not be late. */
  it.each([
    'GET /crl',
    'GET /crl/delta',
    'GET /crl/keys/{key_id}',
    'GET /policy',
    'GET /key-history',
    'GET /key-succession',
    'GET /sovereign-revocation-feed',
    'GET /sovereign-revocation-feed/index',
    'GET /attestations/{attestation_id}',
    'GET /recognition-treaties',
    'GET /recognition-treaties/{treaty_id}',
    'GET /recognition-policy',
    'GET /data-usage/policy',
    'GET /connectome/trust-path',
    'GET /evidence-log/checkpoint',
    'GET /admin/evidence/resource-heads/{resource_id}',
    'GET /admin/evidence/export',
    'GET /admin/evidence/verify',
    'GET /admin/history/trusted',
    'GET /admin/operator-keys',
    'GET /admin/whoami',
    'GET /admin/boundary-policies/active',
    'GET /readyz',
  ])('do not include %s', (id) => {
    expect(LISTED).not.toContain(id)
  })

  it('are those of the page for operators', () => {
    const [, part = ''] = /## Routes\n([\s\S]*?)\n## /.exec(readFileSync(PAGE, 'utf8')) ?? []
    const written = [...part.matchAll(/`(GET \/[^`]*)`/g)].map(([, id]) => id)
    expect(written.toSorted(), 'docs/operate/read-replicas.md lists the routes of REPLICA_ROUTES').toEqual(
      LISTED.toSorted(),
    )
  })
})

it('notes the changes of operators and agents, not the calls of nodes and decisions', async () => {
  const na = await startTestAuthority()
  const { open } = bindingsOf(na.features, na.settings)
  const none = { noteChange: () => undefined }
  const noted = noteChanges(open, { reads: none, agentReads: none }).flatMap((binding, index) =>
    binding.handle === open[index]?.handle ? [] : [binding.route.id],
  )
  await na.stop()
  expect(noted).toEqual(expect.arrayContaining(['POST /admin/revoke', 'POST /admin/invite', 'POST /agents']))
  for (const id of ['POST /heartbeat', 'POST /join', 'POST /admin/boundary/decide', 'POST /evidence/execution'])
    expect(noted).not.toContain(id)
  expect(noted.filter((id) => id.startsWith('GET '))).toEqual([])
})

it('a registration of an agent is noted for lists of agents only: a node may register every two seconds', async () => {
  const noted: string[] = []
  const reads = { noteChange: () => void noted.push('others') }
  const agentReads = { noteChange: () => void noted.push('agents') }
  const notedBy = async (route: Route): Promise<readonly string[]> => {
    noted.length = 0
    const [binding] = noteChanges([{ route, handle: () => ({}) }], { reads, agentReads })
    await binding?.handle({} as Call)
    return [...noted]
  }
  expect(await notedBy(agents.register)).toEqual(['agents'])
  expect(await notedBy(agents.remove)).toEqual(['agents'])
  expect(await notedBy(crl.revoke)).toEqual(['others', 'agents'])
  expect(await notedBy(enrollment.heartbeat)).toEqual([])
})
