import { draftRevocationFeed, signList, writeInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { createClient } from '@chancery/sdk'
import type { Client } from '@chancery/sdk'
import { CAPABILITIES, NETWORK, NODE_ROLES, PARTNERS, demoSigner } from './demo-data.ts'
import type { Partner } from './demo-data.ts'
import { decide } from './decisions.ts'
import type { DemoKeys } from './demo-folder.ts'

export interface DemoTarget {
  readonly url: string
  readonly keys: DemoKeys
  readonly nodes: number
  readonly now: () => Instant
}

/** Number of nodes that join at once. */
const TOGETHER = 16
/** One in this many nodes has an agent, and one in this many of those is revoked. */
const AGENT_EVERY = 5
const REVOKED_EVERY = 40

/** Fills a new authority through its own routes, so that all data could come from an operator. */
export async function fill(target: DemoTarget): Promise<void> {
  const { url, keys } = target
  const operator = createClient({ url, operator: { signer: keys.operator, audience: keys.authority.publicKey } })
  await operator.policy.publish({})
  const certificates = await joinNodes(target, operator)
  const revoked = certificates.filter((_, i) => i % REVOKED_EVERY === REVOKED_EVERY - 1)
  for (const cert_id of revoked) await operator.crl.revoke({ cert_ids: [cert_id], reason: 'key_compromise' })
  for (const partner of PARTNERS) await fetchNetwork(operator, partner, target.now())
  await decide(operator, target.now())
}

async function joinNodes(target: DemoTarget, operator: Client): Promise<readonly string[]> {
  const certificates: string[] = []
  for (let at = 0; at < target.nodes; at += TOGETHER) {
    const batch = Array.from({ length: Math.min(TOGETHER, target.nodes - at) }, (_, i) =>
      joinNode(target, operator, at + i),
    )
    certificates.push(...(await Promise.all(batch)))
  }
  return certificates
}

async function joinNode({ url, keys }: DemoTarget, operator: Client, i: number): Promise<string> {
  const name = `berth-${String(i + 1).padStart(4, '0')}`
  const { token_id } = await operator.enrollment.invite({ roles: NODE_ROLES[i % NODE_ROLES.length] ?? [] })
  const node = createClient({ url, node: { signer: await demoSigner(name), audience: keys.authority.publicKey } })
  const { cert_id } = await node.enrollment.join({ invite_token: token_id })
  if (i % AGENT_EVERY === 0)
    await node.agents.register({
      agent_id: `agent-${name}`,
      network_name: NETWORK,
      capabilities: [CAPABILITIES[(i / AGENT_EVERY) % CAPABILITIES.length] ?? 'read.manifest'],
      endpoint: { host: `${name}.demo.example`, port: 443, scheme: 'https' },
      lifetimeSeconds: 86_400,
    })
  return cert_id
}

/** Creates a treaty, its revocation where the data has one, and the revocations of the partner. */
async function fetchNetwork(operator: Client, partner: Partner, now: Instant): Promise<void> {
  const signer = await demoSigner(`na-${partner.name.toLowerCase()}`, partner.name)
  const treaty = await operator.recognitionTreaties.issue({
    subject_sovereign_id: partner.name,
    subject_public_keys: [signer.publicKey],
    scope: { allowed_roles: partner.roles },
    validity_hours: partner.validityHours,
  })
  if (partner.endedBecause !== undefined)
    await operator.recognitionTreaties.revoke(treaty.treaty_id, { reason: partner.endedBecause })
  if (partner.withdrew === undefined) return
  const draft = draftRevocationFeed({
    feed_id: `feed-${partner.name.toLowerCase()}-1`,
    issuer_sovereign_id: partner.name,
    sequence: 1,
    issued_at: writeInstant(now),
    reasons: new Map(partner.withdrew.map((id) => [id, 'member_left'])),
    issued_by: signer.keyId,
  })
  await operator.revocationFeeds.import({ feed: await signList(draft, signer) })
}
