import type { JsonObject } from '@chancery/protocol'
import { accepted, createInvite, enroll, foreignSovereign, nodeCaller, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { spendingPolicy } from '../../apps/cli/src/commands/demo/demo-data.ts'
import { registerAgent } from './frame-setup.ts'

/** How many texts each field stored, 0 included, and an address of the console that shows one of them. */
export interface Filled {
  readonly stored: Record<string, number>
  readonly addresses: string[]
}

/**
 * Writes each text into every field that a node, a partner or an operator can fill, with the requests they would send.
 * A text that the authority refuses is stored nowhere.
 */
export async function fillMalicious(na: TestAuthority, texts: readonly string[], first: number): Promise<Filled> {
  const filled: Filled = { stored: {}, addresses: [] }
  const store = async (field: string, write: () => Promise<string | undefined>): Promise<void> => {
    const address = await write().catch(() => undefined)
    filled.stored[field] = (filled.stored[field] ?? 0) + (address === undefined ? 0 : 1)
    if (address === undefined) return
    if (filled.stored[field] === 1) filled.addresses.push(address)
  }
  for (const [i, text] of texts.entries())
    for (const [field, write] of Object.entries(writers(na, text, first + i))) await store(field, write)
  return filled
}

const id = (value: unknown): string => encodeURIComponent(String(value))

type Writers = Record<string, () => Promise<string | undefined>>

const writers = (na: TestAuthority, text: string, number: number): Writers => ({
  ...nodeWriters(na, text, number),
  ...networkWriters(na, text, number),
})

/** Sends a signed request, and returns what an accepted one answers. */
async function post(na: TestAuthority, path: string, body: JsonObject): Promise<JsonObject | undefined> {
  const response = await na.as('privileged')('POST', path, body)
  return response.status < 300 ? accepted(response, response.status) : undefined
}

/** What belongs to a node. */
function nodeWriters(na: TestAuthority, text: string, number: number): Writers {
  const seed = `malicious ${number % 100}`
  return {
    async label() {
      const node = nodeCaller(na.url, await testSigner('n', seed), () => na.core.clock.now())
      if (number < 100) await enroll(na, node)
      const labelled = await post(na, '/admin/nodes/label', { node_public_key: node.key, label: text })
      return labelled && '/operator/nodes'
    },
    async invite() {
      await createInvite(na, { label: text })
      return '/operator/nodes?tab=invites'
    },
    async agent() {
      await registerAgent(na, seed, text, 'pay.invoice')
      return '/operator/agents'
    },
    async capability() {
      await registerAgent(na, seed, `agent-${number}`, text)
      return `/operator/agents?capability=${id(text)}`
    },
  }
}

/** What belongs to partners, rules and members. */
function networkWriters(na: TestAuthority, text: string, number: number): Writers {
  const attest = (subject_id: string): Promise<JsonObject | undefined> =>
    post(na, '/admin/attestations', {
      subject_id,
      roles: ['role:client'],
      claims: { capabilities: ['pay.invoice', text] },
    })
  return {
    async treaty() {
      const keys = [foreignSovereign('MALICIOUS').publicKey]
      const treaty = await post(na, '/admin/recognition-treaties', {
        subject_sovereign_id: text,
        subject_public_keys: keys,
        metadata: { note: text },
      })
      return treaty && `/operator/treaties/${id(treaty['treaty_id'])}`
    },
    async reason() {
      const treaty = await post(na, '/admin/recognition-treaties', {
        subject_sovereign_id: `REASON-${number}`,
        subject_public_keys: [foreignSovereign('MALICIOUS').publicKey],
      })
      const ended = await post(na, `/admin/recognition-treaties/${id(treaty?.['treaty_id'])}/revoke`, { reason: text })
      return ended && `/operator/partners/REASON-${number}`
    },
    async partner() {
      const added = await post(na, '/admin/partners', {
        url: `https://na-${number}.invalid`,
        sovereign_id: `PARTNER-${number}`,
        root_public_key: foreignSovereign(`PARTNER-${number}`).publicKey,
        label: text,
        defer: true,
      })
      return added && `/operator/partners/PARTNER-${number}`
    },
    async policy() {
      const policy = spendingPolicy('2026-01-01T00:00:00Z', '2099-01-01T00:00:00Z', 1000) as JsonObject
      const published = await post(na, '/admin/boundary-policies', {
        ...policy,
        policy_id: `policy-${number}`,
        description: text,
      })
      return published && `/operator/policies/policy-${number}`
    },
    async member() {
      const member = await attest(text)
      return member && `/operator/attestations/${id(member['attestation_id'])}`
    },
    async decision() {
      const member = await attest(`member-${number}`)
      const response = await post(na, '/admin/boundary/evaluate', {
        attestation_id: member?.['attestation_id'] ?? '',
        requested_capability: number % 2 === 0 ? text : 'pay.invoice',
        context: { request_parameters: { amount: 1, [text]: text, note: text } },
      })
      const decision = response?.['decision'] as JsonObject | undefined
      return decision && `/operator/decisions/${id(decision['decision_id'])}`
    },
  }
}
