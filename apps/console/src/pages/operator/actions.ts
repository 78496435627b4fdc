import { REVOCATION_REASONS } from '@chancery/protocol'
import type { JsonValue, RevocationReason } from '@chancery/protocol'
import type { Client } from '@chancery/sdk'
import { optionalNumber, optionalText, text, words } from './action.ts'
import type { Action, Field } from './action.ts'
import { PARTNER_ACTIONS } from './partner-actions.ts'
import { previewedEnd, previewedRevocation, previewedWithdrawal } from './previewed-action.ts'

const ROLES: Field = { name: 'roles', label: 'Roles', kind: 'words', help: 'For example role:client' }
const REASON: Field = { name: 'reason', label: 'Reason', kind: 'text' }

/** Scope of a revocation. */
const ONE = 'this certificate'
const ALL_OF_KEY = 'every certificate of its node key'

export const ACTIONS: readonly Action[] = [
  {
    id: 'revoke',
    title: 'Revoke a certificate',
    purpose: 'Permanent. Every instance refuses the node from the next request on.',
    isFinal: true,
    fields: [
      { name: 'cert_id', label: 'Certificate id', kind: 'text', required: true },
      {
        name: 'reason',
        label: 'Reason',
        kind: 'choice',
        choices: REVOCATION_REASONS,
        initial: 'unspecified',
      },
      { name: 'ends', label: 'Ends', kind: 'choice', choices: [ONE, ALL_OF_KEY], initial: ONE },
    ],
    draft(values) {
      const [cert_id, reason] = [text(values, 'cert_id'), text(values, 'reason') as RevocationReason]
      const allOfKey = text(values, 'ends') === ALL_OF_KEY
      const request = { cert_ids: [cert_id], reason, allOfKey } as const
      return {
        target: 'POST /admin/revoke',
        body: { cert_id, reason, ...(allOfKey ? { all_of_key: true } : {}) },
        preview: async (client) => previewedRevocation(await client.crl.revoke({ ...request, dryRun: true })),
        send: async (client) => ({ ...(await client.crl.revoke(request)) }),
      }
    },
  },
  {
    id: 'treaty-issue',
    title: 'Issue a treaty',
    purpose: 'Signs a treaty: its members are accepted here, within these roles and for this time.',
    fields: [
      { name: 'subject_sovereign_id', label: 'Partner network', kind: 'text', required: true },
      { name: 'subject_public_keys', label: 'Its public keys, base64', kind: 'words', required: true },
      ROLES,
      { name: 'validity_hours', label: 'Validity, hours', kind: 'number', initial: '168' },
    ],
    draft(values) {
      const body = {
        subject_sovereign_id: text(values, 'subject_sovereign_id'),
        subject_public_keys: words(values, 'subject_public_keys'),
        scope: { allowed_roles: words(values, 'roles') },
        ...optionalNumber(values, 'validity_hours'),
      }
      const send = (client: Client): Promise<JsonValue> => client.recognitionTreaties.issue(body)
      return { target: 'POST /admin/recognition-treaties', body, send }
    },
  },
  {
    id: 'treaty-revoke',
    title: 'End a treaty',
    purpose: 'Permanent. Members of the partner network are no longer accepted by this treaty.',
    isFinal: true,
    fields: [{ name: 'treaty_id', label: 'Treaty id', kind: 'text', required: true }, REASON],
    draft(values) {
      const [id, body] = [text(values, 'treaty_id'), optionalText(values, 'reason')]
      return {
        target: `POST /admin/recognition-treaties/${id}/revoke`,
        body,
        preview: async (client) => previewedEnd(await client.recognitionTreaties.revoke(id, { ...body, dryRun: true })),
        send: (client) => client.recognitionTreaties.revoke(id, body),
      }
    },
  },
  {
    id: 'attestation-issue',
    title: 'Attest a member',
    purpose: 'Signs that a person, agent or service is a member of this network.',
    fields: [
      { name: 'subject_id', label: 'Member', kind: 'text', required: true },
      { ...ROLES, required: true, initial: 'role:client' },
      { name: 'validity_hours', label: 'Validity, hours', kind: 'number' },
    ],
    draft(values) {
      const body = {
        subject_id: text(values, 'subject_id'),
        roles: words(values, 'roles'),
        ...optionalNumber(values, 'validity_hours'),
      }
      const send = (client: Client): Promise<JsonValue> => client.attestations.issue(body)
      return { target: 'POST /admin/attestations', body, send }
    },
  },
  {
    id: 'attestation-revoke',
    title: 'Revoke an attestation',
    purpose: 'Permanent. The revocation feed informs partner networks.',
    isFinal: true,
    fields: [{ name: 'attestation_id', label: 'Attestation id', kind: 'text', required: true }, REASON],
    draft(values) {
      const [id, body] = [text(values, 'attestation_id'), optionalText(values, 'reason')]
      return {
        target: `POST /admin/attestations/${id}/revoke`,
        body,
        preview: async (client) => previewedWithdrawal(await client.attestations.revoke(id, { ...body, dryRun: true })),
        send: (client) => client.attestations.revoke(id, body),
      }
    },
  },
  ...PARTNER_ACTIONS,
]
