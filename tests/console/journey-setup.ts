import { MINUTE, writeSortable } from '@chancery/protocol'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { type NodeCaller, accepted, enroll, foreignSovereign, nodeCaller, testSigner } from '@chancery/testkit'
import { StubPartner } from '../../apps/authority/src/features/partners/stub-partner.suite.ts'
import { rowsOf } from '../../apps/authority/src/testing/rows.suite.ts'
import { decide } from '../../apps/cli/src/commands/demo/decisions.ts'
import { type FrameSetup, openFrameSetup, registerAgent } from './frame-setup.ts'

/** An authority for the journeys of one screen. It is empty until `fill`. */
export interface JourneySetup extends FrameSetup {
  /** A network that can be added as a partner. */
  readonly stub: StubPartner
  /** The certificates of the silent node Berlin 3, both of one key. */
  readonly silent: string[]
}

export async function openJourneySetup(): Promise<JourneySetup> {
  const setup = await openFrameSetup({ NA_PARTNER_ADDRESSES: 'loopback' }, 0)
  const stub = await new StubPartner('FJORD-BANK', () => setup.na.core.clock.now()).listen()
  return {
    ...setup,
    stub,
    silent: [],
    async close() {
      await setup.close()
      await stub.stop()
    },
  }
}

/** Adds nodes, one of them silent, agents, a treaty of 20 hours, a policy in two versions, and decisions. */
export async function fill({ na, silent }: JourneySetup): Promise<void> {
  const newNode = async (seed: string): Promise<NodeCaller> =>
    nodeCaller(na.url, await testSigner('n', seed), () => na.core.clock.now())
  for (const [agent, capability] of [
    ['payer', 'pay.invoice'],
    ['weigher', 'weigh.cargo'],
  ] as const) {
    await enroll(na, await newNode(agent))
    await registerAgent(na, agent, agent, capability)
  }
  const node = await newNode('silent')
  for (let i = 0; i < 2; i += 1) silent.push((await enroll(na, node)).cert_id)
  accepted(await na.as('standard')('POST', '/admin/nodes/label', { node_public_key: node.key, label: 'Berlin 3' }))
  await rowsOf(na.core.database)
    .updateTable('node_liveness')
    .set({ last_heartbeat: writeSortable(na.core.clock.now() - 20n * MINUTE) })
    .where('cert_id', 'in', silent)
    .execute()
  const treaty = {
    subject_sovereign_id: 'OSPREY-GRID',
    subject_public_keys: [foreignSovereign('OSPREY-GRID').publicKey],
    validity_hours: 20,
  }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
  const signer = await testSigner('op-privileged')
  const audience = na.genesis.network_authority.public_key
  await decide(createAuthorityClient({ url: na.url, operator: { signer, audience } }), na.core.clock.now())
}
