import { type JsonObject, isJsonObject } from '@chancery/protocol'
import { plain } from '../../../components/plain.ts'
import { at } from '../../client.ts'
import type { Act, Values } from '../../signing/act.ts'
import { jsonOf, textOf } from '../partners/material.ts'

const isBasis =
  (basis: string) =>
  (values: Values): boolean =>
    values['basis'] === basis

/** Decides a request as operator. The authority signs the decision and stores it. */
export const decideAct: Act = {
  name: 'decide',
  title: 'Decide a request',
  sentence: 'The authority decides under the policies in force, and signs the decision with its justification.',
  button: 'Sign and decide it',
  fields: [
    {
      name: 'basis',
      label: 'Basis',
      kind: 'few',
      initial: 'own',
      choices: [
        { value: 'own', text: 'Own member' },
        { value: 'partner', text: 'Member of a partner' },
        { value: 'agreement', text: 'Agreement' },
      ],
    },
    { name: 'attestation_id', label: 'Attestation id', kind: 'text', isMono: true, isShown: isBasis('own') },
    {
      name: 'issuer',
      label: 'Network of the partner',
      kind: 'text',
      isShown: isBasis('partner'),
      hint: 'The name that you expect. An attestation of another network is refused.',
    },
    { name: 'attestation', label: 'Its attestation', kind: 'file', isShown: isBasis('partner') },
    { name: 'agreement', label: 'The agreement', kind: 'file', isShown: isBasis('agreement') },
    { name: 'capability', label: 'Capability', kind: 'text', isMono: true, placeholder: 'pay.invoice' },
    {
      name: 'parameters',
      label: 'Parameters of the request, as JSON',
      kind: 'long',
      isMono: true,
      initial: '{}',
      hint: 'For example { "amount": 120 }. Policies compare these values.',
    },
  ],
  requests(values) {
    const requested_capability = textOf(values, 'capability')
    const basis = basisOf(values)
    if (requested_capability === '') throw new Error('Give the capability that is asked for, for example pay.invoice.')
    const context = { request_parameters: jsonOf(values['parameters'], 'Parameters') }
    const body = { ...basis, requested_capability, context }
    return [{ target: at`/admin/boundary/evaluate`, body, isRepeatable: true }]
  },
  effects: (values) => [
    {
      shape: 'dashed',
      tone: 'ended',
      text: `Whether ${textOf(values, 'capability')} is allowed or denied is decided when you sign`,
      more: 'There is no dry run of a decision.',
    },
    { shape: 'tick', tone: 'good', text: 'The decision and its justification are signed and stored as evidence' },
    { shape: 'dash', tone: 'ended', text: 'Nothing is executed by this' },
  ],
  done([answer]) {
    // Under an agreement the answer is the decision itself.
    const decision = answer?.['decision']
    const { decision_id, authorized, denial_reason } = isJsonObject(decision) ? decision : (answer ?? {})
    return {
      toast: {
        text: authorized === true ? 'The request is allowed.' : `The request is denied: ${plain(denial_reason)}.`,
        link: { href: `/operator/decisions/${encodeURIComponent(plain(decision_id))}`, text: 'Open' },
        ms: 30_000,
      },
    }
  },
  unknown: { text: 'A decision may be stored.', href: '/operator/decisions', link: 'Decisions' },
}

function basisOf(values: Values): JsonObject {
  if (values['basis'] === 'agreement') return { agreement: jsonOf(values['agreement'], 'Agreement') }
  if (values['basis'] === 'partner') {
    // Named apart from the attestation, so that its own text alone does not decide.
    const issuer_sovereign_id = textOf(values, 'issuer')
    if (issuer_sovereign_id === '') throw new Error('Give the name of the network of the partner.')
    jsonOf(values['attestation'], 'Attestation')
    // The text as given: a signature covers the spelling of numbers.
    return { presented: { attestation_text: textOf(values, 'attestation'), issuer_sovereign_id } }
  }
  const attestation_id = textOf(values, 'attestation_id')
  if (attestation_id === '') throw new Error('Give the id of the attestation.')
  return { attestation_id }
}
