import type { AttestationPreview } from '@chancery/sdk/authority'
import type { JsonObject } from '@chancery/protocol'
import { plain } from '../../../components/plain.ts'
import { at } from '../../client.ts'
import type { Act } from '../../signing/act.ts'
import { keysOf, textOf, wordsOf } from './material.ts'

/** Signs that a subject is a member of this network. */
export const attestAct: Act = {
  name: 'attest',
  title: 'Attest a member',
  sentence: 'Signs that a person, agent or service is a member of this network. Partners can then accept it.',
  button: 'Sign the attestation',
  isPrivileged: true,
  fields: [
    { name: 'subject_id', label: 'Member', kind: 'text', placeholder: 'captain-4' },
    {
      name: 'roles',
      label: 'Roles',
      kind: 'text',
      isMono: true,
      initial: 'role:client',
      hint: 'Separated by spaces.',
    },
    { name: 'validity_hours', label: 'Valid for, hours', kind: 'number', initial: '168' },
    {
      name: 'subject_public_key',
      label: 'Only with this key',
      kind: 'text',
      isMono: true,
      isOptional: true,
      hint: '44 characters of base64. The member then proves itself with it.',
    },
  ],
  requests(values) {
    const [subject_id, roles, hours] = [
      textOf(values, 'subject_id'),
      wordsOf(values['roles']),
      Number(values['validity_hours']),
    ]
    if (subject_id === '') throw new Error('Give the name of the member.')
    if (roles.length === 0) throw new Error('Give at least one role, for example role:client.')
    if (!Number.isInteger(hours) || hours < 1) throw new Error('Valid for: a whole number of hours.')
    const [key] = textOf(values, 'subject_public_key') === '' ? [] : keysOf(values['subject_public_key'])
    const body = { subject_id, roles, validity_hours: hours, ...(key === undefined ? {} : { subject_public_key: key }) }
    return [{ target: at`/admin/attestations`, body, isRepeatable: true }]
  },
  effects: (values) => [
    {
      shape: 'tick',
      tone: 'good',
      text: `${textOf(values, 'subject_id')} is attested with ${wordsOf(values['roles']).join(', ')}`,
      more: `For ${values['validity_hours'] ?? ''} hours. Partners accept it within their treaty with this network.`,
    },
  ],
  done: ([answer], values) => ({
    toast: {
      text: `Attested ${textOf(values, 'subject_id')}.`,
      link: { href: attestationHref(plain(answer?.['attestation_id'])), text: 'Open' },
    },
  }),
}

export const attestationHref = (id: string): string => `/operator/attestations/${encodeURIComponent(id)}`

/** Withdraws one attestation. */
export function withdrawAct(attestation_id: string, subject: string): Act {
  return {
    name: 'withdraw',
    title: `Withdraw the attestation of ${subject}`,
    sentence: 'The revocation feed informs partners. They refuse the member from the next time they read it.',
    button: 'Sign and withdraw it',
    isPrivileged: true,
    hasDryRun: true,
    fields: [
      {
        name: 'reason',
        label: 'Reason',
        kind: 'text',
        initial: 'cessation_of_operation',
        hint: 'It is public, in the revocation feed.',
      },
    ],
    final: { warning: 'This is final. To accept the member again, sign a new attestation.', typed: subject },
    requests: (values) => [
      { target: at`/admin/attestations/${attestation_id}/revoke`, body: reasonBody(values['reason']) },
    ],
    effects(_values, dryRun) {
      const preview = dryRun as unknown as AttestationPreview
      const { count, sample } = preview.accepting_sovereigns
      return [
        preview.would_change
          ? { shape: 'cross', tone: 'bad', text: 'The attestation ends now' }
          : { shape: 'dash', tone: 'ended', text: 'Nothing changes: it is withdrawn already' },
        {
          shape: count === 0 ? 'dash' : 'cross',
          tone: count === 0 ? 'ended' : 'bad',
          text: `${count === 1 ? '1 network accepts' : `${count} networks accept`} members of this network by treaties that are stored here`,
          ...(count === 0
            ? {}
            : { more: `${sample.slice(0, 20).join(', ')}. They refuse it after they read the feed.` }),
        },
      ]
    },
    done: () => ({ toast: { text: `Withdrew the attestation of ${subject}.` } }),
  }
}

export function reasonBody(text: string | undefined): JsonObject {
  const reason = (text ?? '').trim()
  return reason === '' ? {} : { reason }
}
