import { HOUR, draftRevocationFeed, instantOf, signList, writeInstant, writeJson } from '@chancery/protocol'
import type { Instant, RecognitionTreaty } from '@chancery/protocol'
import { createAuthorityClient, type Client, type TreatyRow } from '@chancery/sdk/authority'
import { NETWORK, PARTNERS, agentOf, demoSigner, isShortLived, nodeName, nodeRoles } from './demo-nodes.ts'
import type { NodesFolder, Partner } from './demo-nodes.ts'
import { decide } from './decisions.ts'
import type { DemoKeys } from './demo-folder.ts'

/** A treaty with less time left is renewed. Partners with short treaties stay in its warning. */
const RENEW_HOURS = 96n
const RENEW_SHORT_HOURS = 6n
const FEED_HOURS = 6

/** Issues the treaty with each partner, and revokes it where the data says so. */
export async function addPartners(operator: Client): Promise<void> {
  for (const partner of PARTNERS) {
    const { treaty_id } = await issueTreaty(operator, partner)
    if (partner.endedBecause !== undefined)
      await operator.recognitionTreaties.revoke(treaty_id, { reason: partner.endedBecause })
  }
}

async function issueTreaty(operator: Client, { name, roles, validityHours }: Partner): Promise<RecognitionTreaty> {
  const { publicKey } = await partnerSigner(name)
  return operator.recognitionTreaties.issue({
    subject_sovereign_id: name,
    subject_public_keys: [publicKey],
    scope: { allowed_roles: roles },
    validity_hours: validityHours,
  })
}

function partnerSigner(name: string): ReturnType<typeof demoSigner> {
  return demoSigner(`na-${name.toLowerCase()}`, name)
}

/** Imports a new revocation feed of each partner whose last one is six hours old. */
export async function importFeeds(operator: Client, now: Instant): Promise<void> {
  const { revocation_feeds } = await operator.dashboard.view()
  for (const partner of PARTNERS) {
    if (partner.endedBecause !== undefined) continue
    const last = revocation_feeds.find((row) => row['issuer_sovereign_id'] === partner.name)
    if (last !== undefined && Number(last['age_hours']) < FEED_HOURS) continue
    const sequence = Number(last?.['sequence'] ?? 0) + 1
    const signer = await partnerSigner(partner.name)
    const draft = draftRevocationFeed({
      feed_id: `feed-${partner.name.toLowerCase()}-${sequence}`,
      issuer_sovereign_id: partner.name,
      sequence,
      issued_at: writeInstant(now),
      reasons: new Map(partner.withdrew.map((id) => [id, 'member_left'])),
      issued_by: signer.keyId,
    })
    await operator.revocationFeeds.import({ feed: await signList(draft, signer) })
  }
}

/** Renews treaties before they end. A treaty that was revoked stays revoked. */
export async function renewTreaties(operator: Client, now: Instant): Promise<void> {
  const rows: TreatyRow[] = []
  for await (const row of operator.recognitionTreaties.all({ status: 'active' })) rows.push(row)
  for (const partner of PARTNERS) {
    const row = rows.find(({ treaty }) => treaty.subject_sovereign_id === partner.name)
    if (row === undefined || !isDue(row, partner, now)) continue
    const { treaty_id } = await issueTreaty(operator, partner)
    await operator.recognitionTreaties.revoke(row.treaty.treaty_id, { reason: `renewed_by:${treaty_id}` })
  }
}

function isDue({ treaty }: TreatyRow, { validityHours }: Partner, now: Instant): boolean {
  const renewHours = validityHours < 72 ? RENEW_SHORT_HOURS : RENEW_HOURS
  return instantOf(treaty.expires_at) - now < renewHours * HOUR
}

export interface DemoTarget {
  readonly url: string
  readonly keys: DemoKeys
  readonly nodes: number
  readonly now: () => Instant
  readonly folder: NodesFolder
}

/** A node that has joined. */
export interface JoinedNode {
  readonly index: number
  readonly certId: string
  readonly client: Client
}

/** Number of nodes that join at once. */
const TOGETHER = 16
/** One in this many nodes is revoked. */
const REVOKED_EVERY = 40

export function operatorOf({ url, keys, now }: Pick<DemoTarget, 'url' | 'keys' | 'now'>): Client {
  return createAuthorityClient({
    url,
    clock: now,
    operator: { signer: keys.operator, audience: keys.authority.publicKey },
  })
}

/** Fills a new authority through its own routes, so that all data could come from an operator. */
export async function fill(target: DemoTarget): Promise<void> {
  const operator = operatorOf(target)
  await operator.policy.publish({ policy_id: 'demo-policy' })
  await revokeSome(target, operator, await joinNodes(target, operator, range(0, target.nodes)))
  await addPartners(operator)
  await importFeeds(operator, target.now())
  await decide(operator, target.now())
}

export function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}

export async function joinNodes(
  target: DemoTarget,
  operator: Client,
  indexes: readonly number[],
  { allowShort = true }: { readonly allowShort?: boolean } = {},
): Promise<readonly JoinedNode[]> {
  const joined: JoinedNode[] = []
  for (let at = 0; at < indexes.length; at += TOGETHER) {
    const batch = indexes.slice(at, at + TOGETHER).map((index) => joinNode(target, operator, index, allowShort))
    joined.push(...(await Promise.all(batch)))
  }
  return joined
}

async function joinNode(
  { url, keys, now, folder }: DemoTarget,
  operator: Client,
  index: number,
  allowShort: boolean,
): Promise<JoinedNode> {
  const name = nodeName(index)
  const { token_id } = await operator.enrollment.invite({ roles: nodeRoles(index), label: name })
  const signer = await demoSigner(name)
  const client = createAuthorityClient({ url, clock: now, node: { signer, audience: keys.authority.publicKey } })
  const validity = allowShort && isShortLived(index) ? { validity_hours: 1 } : {}
  const certificate = await client.enrollment.join({ invite_token: token_id, ...validity })
  const store = await folder.store(index)
  await store.write('certificate', writeJson(certificate))
  const agent = agentOf(index)
  if (agent !== undefined) await client.agents.register({ ...agent, network_name: NETWORK })
  return { index, certId: certificate.cert_id, client }
}

/** Revokes one in forty nodes. They are not started later. Returns the others. */
export async function revokeSome(
  { folder }: DemoTarget,
  operator: Client,
  nodes: readonly JoinedNode[],
): Promise<readonly JoinedNode[]> {
  const isRevoked = ({ index }: JoinedNode): boolean => index % REVOKED_EVERY === REVOKED_EVERY - 1
  const revoked = nodes.filter(isRevoked)
  const [first, ...more] = revoked.map(({ certId }) => certId)
  if (first !== undefined) await operator.crl.revoke({ cert_ids: [first, ...more], reason: 'key_compromise' })
  for (const { index } of revoked) await folder.remove(index)
  return nodes.filter((node) => !isRevoked(node))
}
