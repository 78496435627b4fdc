import type { BoundaryDecision, JsonObject } from '@chancery/protocol'
import { accepted, signExecution, testSigner } from '@chancery/testkit'
import { spendingPolicy } from '../../../apps/cli/src/commands/demo/demo-nodes.ts'
import { type Fields, part, post } from './requests.ts'
import type { MaliciousSetup } from './setup.ts'
import { asName } from './texts.ts'

/** What belongs to policies, to the records of the network and to the evidence store. */
export function ruleFields(setup: MaliciousSetup, text: string, number: number): Fields {
  return {
    ...policyFields(setup, text, number),
    ...recordFields(setup, text, number),
    ...evidenceFields(setup, text, number),
  }
}

function policyFields({ na }: MaliciousSetup, text: string, number: number): Fields {
  const publish = async (changed: JsonObject & { readonly policy_id: string }): Promise<string | undefined> => {
    const policy = spendingPolicy('2026-01-01T00:00:00Z', '2099-01-01T00:00:00Z', 1000) as JsonObject
    const published = await post(na, '/admin/boundary-policies', { ...policy, ...changed })
    return published && `/operator/policies/${part(changed.policy_id)}`
  }
  return {
    async policy_description() {
      const page = await publish({ policy_id: `policy-${number}`, description: text })
      return page === undefined ? undefined : [page, `${page}/draft`, `${page}/draft?do=publish`]
    },
    async policy_selector() {
      const page = await publish({ policy_id: asName(text), selector: { capabilities: [text] } })
      return page === undefined ? undefined : [page, `${page}?do=activate-1`, `${page}/draft`]
    },
  }
}

/** Records with one active version. The last accepted text is the one in force. */
function recordFields({ na }: MaliciousSetup, text: string, number: number): Fields {
  const tab = (name: string): readonly string[] => {
    const page = `/operator/policies?tab=${name}`
    return [page, `${page}&do=publish`]
  }
  return {
    async network_policy() {
      // The page lists the newest 50 versions.
      if (number % 3 !== 0) return undefined
      const id = asName(text)
      const published = await post(na, '/admin/policy', { policy_id: id, allowed_services: [text] })
      const page = `/operator/policies?tab=network`
      return published && [...tab('network'), `${page}&compare=${part(id)}`, `${page}&do=${part(`rollback-${id}`)}`]
    },
    async recognition_policy() {
      const policy = { local_sovereign_id: na.genesis.network_name, recognized_issuers: [] }
      const published = await post(na, '/admin/recognition-policy', {
        recognition_policy: { ...policy, local_sovereign_id: text },
      })
      return published && tab('recognition')
    },
    async data_licence() {
      const published = await post(na, '/admin/data-usage/policy', {
        licensee_sovereign_id: text,
        allowed_source_ids: [text],
        allowed_access_types: [text],
        valid_from: '2026-01-01T00:00:00Z',
        valid_until: '2099-01-01T00:00:00Z',
      })
      return published && tab('data-licence')
    },
  }
}

function evidenceFields({ na }: MaliciousSetup, text: string, number: number): Fields {
  const register = async (key_id: string, executor_sovereign_id: string): Promise<JsonObject | undefined> => {
    const { publicKey: public_key } = await testSigner(key_id, `executor ${number}`)
    return post(na, '/admin/evidence/executor-keys', { key_id, public_key, executor_sovereign_id })
  }
  return {
    async executor_key() {
      const page = '/operator/evidence?view=keys'
      return (await register(text, text)) && [page, `${page}&do=retire&key=${part(text)}`]
    },
    async execution() {
      const [capability, key_id] = ['pay.invoice', asName(text)]
      await register(key_id, `executor-${number}`)
      const member = await post(na, '/admin/attestations', {
        subject_id: `executed-${number}`,
        roles: ['role:client'],
        claims: { capabilities: [capability] },
      })
      const response = await post(na, '/admin/boundary/evaluate', {
        attestation_id: member?.['attestation_id'] ?? '',
        requested_capability: capability,
        context: { request_parameters: { amount: 1 } },
      })
      const decision = response?.['decision'] as BoundaryDecision | undefined
      if (decision === undefined) return undefined
      const evidence = await signExecution(decision, await testSigner(key_id, `executor ${number}`), {
        evidence_id: text.length > 128 ? `evidence-${number}` : text,
        executor_sovereign_id: `executor-${number}`,
        executed_capability: capability,
        execution_parameters: { [text]: text },
        outcome_detail: text,
        resource_id: text,
        resource_action: 'create',
        resource_sequence: 1,
      })
      accepted(await na.request('POST', '/evidence/execution', { body: { evidence } }), 201)
      return [
        `/operator/decisions/${part(decision.decision_id)}`,
        `/operator/evidence?entry_kind=execution`,
        `/operator/resources/${part(text)}`,
        `/operator/vendors/executed-${number}`,
      ]
    },
  }
}
