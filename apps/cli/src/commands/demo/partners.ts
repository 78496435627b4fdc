import { HOUR, draftRevocationFeed, instantOf, signList, writeInstant } from '@chancery/protocol'
import type { Instant, RecognitionTreaty } from '@chancery/protocol'
import type { Client, TreatyRow } from '@chancery/sdk'
import { PARTNERS, type Partner, demoSigner } from './demo-data.ts'

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
