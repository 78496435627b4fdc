import type { JsonObject } from '@chancery/protocol'
import { foreignFeed, foreignSovereign } from '@chancery/testkit'
import { type Fields, part, post } from './requests.ts'
import type { MaliciousSetup } from './setup.ts'
import { asName } from './texts.ts'

const KEYS = [foreignSovereign('MALICIOUS').publicKey]

/** What belongs to treaties, partners and members. */
export function networkFields(setup: MaliciousSetup, text: string, number: number): Fields {
  return { ...treatyFields(setup, text, number), ...memberFields(setup, text, number) }
}

function treatyFields({ na }: MaliciousSetup, text: string, number: number): Fields {
  return {
    async treaty() {
      const treaty = await post(na, '/admin/recognition-treaties', {
        subject_sovereign_id: text,
        subject_public_keys: KEYS,
        scope: { allowed_roles: [`role:${asName(text)}`] },
        // Some end within a day, which the overview reports.
        validity_hours: number % 4 === 0 ? 5 : 700,
        metadata: { note: text },
      })
      const page = `/operator/treaties/${part(treaty?.['treaty_id'])}`
      return treaty && [page, ...['renew', 'replace', 'end', 'import'].map((act) => `${page}?do=${act}`)]
    },
    async treaty_reason() {
      const treaty = await post(na, '/admin/recognition-treaties', {
        subject_sovereign_id: `REASON-${number}`,
        subject_public_keys: KEYS,
      })
      const ended = await post(na, `/admin/recognition-treaties/${part(treaty?.['treaty_id'])}/revoke`, {
        reason: text,
      })
      return ended && [`/operator/partners/REASON-${number}`]
    },
    async partner() {
      const added = await post(na, '/admin/partners', {
        url: `https://na-${number}.invalid`,
        sovereign_id: `PARTNER-${number}`,
        root_public_key: foreignSovereign(`PARTNER-${number}`).publicKey,
        label: text,
        defer: true,
      })
      const page = `/operator/partners/PARTNER-${number}`
      return added && [page, ...['pull', 'repin', 'remove'].map((act) => `${page}?do=${act}`)]
    },
    async withdrawn_by_partner() {
      const partner = foreignSovereign(`FEED-${number}`)
      const imported = await post(na, '/admin/sovereign-revocation-feeds/import', {
        feed: foreignFeed(partner, 1, [text], { revocation_reasons: { [text]: text } }),
        issuer_public_keys: [partner.publicKey],
      })
      return imported && ['/operator/partners?tab=withdrawn']
    },
  }
}

function memberFields({ na }: MaliciousSetup, text: string, number: number): Fields {
  const attest = (subject_id: string): Promise<JsonObject | undefined> =>
    post(na, '/admin/attestations', {
      subject_id,
      roles: [`role:${asName(text)}`],
      claims: { public_mesh: true, capabilities: ['pay.invoice', text], [text]: text },
    })
  const pageOf = (member: JsonObject | undefined): string =>
    `/operator/attestations/${part(member?.['attestation_id'])}`
  return {
    async member() {
      const member = await attest(text)
      return member && [pageOf(member), `${pageOf(member)}?do=withdraw`]
    },
    async member_reason() {
      const member = await attest(`ended-${number}`)
      const path = `/admin/attestations/${part(member?.['attestation_id'])}/revoke`
      const ended = await post(na, path, { reason: text })
      return ended && [pageOf(member)]
    },
    async decision() {
      const member = await attest(`member-${number}`)
      const response = await post(na, '/admin/boundary/evaluate', {
        attestation_id: member?.['attestation_id'] ?? '',
        requested_capability: number % 2 === 0 ? text : 'pay.invoice',
        context: { request_parameters: { amount: 1, [text]: text, note: text } },
      })
      const decision = response?.['decision'] as JsonObject | undefined
      return decision && [`/operator/decisions/${part(decision['decision_id'])}`]
    },
  }
}
