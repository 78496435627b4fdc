import { REVOCATION_REASONS } from '@chancery/protocol'
import type { RevocationReason } from '@chancery/protocol'
import { plain } from '../../components/plain.ts'
import { optionalNumber, optionalText, text, words } from './action.ts'
import type { Action, Field } from './action.ts'
import { NOBODY, counted, named } from './forecast.ts'
import { POLICY_ACTIONS } from './policy-actions.ts'

const ROLES: Field = { name: 'roles', label: 'Roles', kind: 'words', help: 'For example role:client' }
const REASON: Field = { name: 'reason', label: 'Reason', kind: 'text' }

export const ACTIONS: readonly Action[] = [
  {
    id: 'invite',
    title: 'Invite a node',
    purpose: 'Makes a token that lets one node join. The token is shown once.',
    fields: [
      { ...ROLES, required: true, initial: 'role:client' },
      { name: 'max_validity_hours', label: 'Certificates hold at most, hours', kind: 'number' },
      { name: 'token_expiry_hours', label: 'Token holds, hours', kind: 'number' },
    ],
    target: () => 'POST /admin/invite',
    carryOut: async (client, values) => ({
      ...(await client.enrollment.invite({
        roles: words(values, 'roles'),
        ...optionalNumber(values, 'max_validity_hours'),
        ...optionalNumber(values, 'token_expiry_hours'),
      })),
    }),
  },
  {
    id: 'revoke',
    title: 'Revoke a certificate',
    purpose: 'Final. The node is out with the next request, on every instance.',
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
    ],
    target: () => 'POST /admin/revoke',
    async foresee(client, values) {
      const forecast = await client.crl.revoke({
        cert_ids: [text(values, 'cert_id')],
        reason: text(values, 'reason') as RevocationReason,
        dryRun: true,
      })
      const { certificates_revoked: certificates, agents_dropped: agents } = forecast
      const lines = [
        forecast.would_change
          ? 'The revocation list gets a new version.'
          : 'Nothing would change: it is revoked already.',
        `No longer accepted: ${counted(certificates.count, 'certificate')}${named(certificates.sample, certificates.count)}.`,
        `Out of the registry: ${counted(agents.count, 'agent')}.`,
      ]
      return {
        lines,
        ripple: {
          // One certificate is named where it ends; several stand beside it.
          sources:
            certificates.count === 1
              ? NOBODY
              : { what: 'certificates that end', names: certificates.sample, count: certificates.count },
          ends: certificates.count === 1 ? (certificates.sample[0] ?? '') : counted(certificates.count, 'certificate'),
          lost: { what: 'agents that leave the registry', names: agents.sample, count: agents.count },
        },
      }
    },
    carryOut: async (client, values) => ({
      ...(await client.crl.revoke({
        cert_ids: [text(values, 'cert_id')],
        reason: text(values, 'reason') as RevocationReason,
      })),
    }),
  },
  {
    id: 'treaty-issue',
    title: 'Recognise a sovereign',
    purpose: 'Signs a treaty: its members are accepted here, within these roles and for this time.',
    fields: [
      { name: 'subject_sovereign_id', label: 'Sovereign', kind: 'text', required: true },
      { name: 'subject_public_keys', label: 'Its public keys, base64', kind: 'words', required: true },
      ROLES,
      { name: 'validity_hours', label: 'Holds, hours', kind: 'number', initial: '168' },
    ],
    target: () => 'POST /admin/recognition-treaties',
    carryOut: (client, values) =>
      client.recognitionTreaties.issue({
        subject_sovereign_id: text(values, 'subject_sovereign_id'),
        subject_public_keys: words(values, 'subject_public_keys'),
        scope: { allowed_roles: words(values, 'roles') },
        ...optionalNumber(values, 'validity_hours'),
      }),
  },
  {
    id: 'treaty-revoke',
    title: 'End a treaty',
    purpose: 'Final. Members of the other sovereign are no longer accepted on its strength.',
    isFinal: true,
    fields: [{ name: 'treaty_id', label: 'Treaty id', kind: 'text', required: true }, REASON],
    target: (values) => `POST /admin/recognition-treaties/${text(values, 'treaty_id')}/revoke`,
    async foresee(client, values) {
      const request = { ...optionalText(values, 'reason'), dryRun: true } as const
      const { would_change, paths_lost } = await client.recognitionTreaties.revoke(text(values, 'treaty_id'), request)
      const pairs = paths_lost.sample.map((pair) => `${pair.from} → ${pair.to}`)
      const lines = [
        would_change ? 'The treaty ends now.' : 'Nothing would change: it ended before.',
        `Lost: ${paths_lost.complete ? '' : 'at least '}${counted(paths_lost.count, 'trust path')}${named(pairs, paths_lost.count)}.`,
        ...(would_change
          ? [
              paths_lost.direct_recognition_lost
                ? 'No other treaty in force joins the two directly.'
                : 'Another treaty in force still joins the two.',
            ]
          : []),
      ]
      const sources = [...new Set(paths_lost.sample.map((pair) => pair.from))]
      const targets = [...new Set(paths_lost.sample.map((pair) => pair.to))]
      return {
        lines,
        ripple: {
          sources: { what: 'sovereigns that lose a path', names: sources, count: sources.length },
          ends: 'this treaty',
          lost: { what: 'sovereigns they no longer reach', names: targets, count: targets.length },
        },
      }
    },
    carryOut: (client, values) =>
      client.recognitionTreaties.revoke(text(values, 'treaty_id'), optionalText(values, 'reason')),
  },
  {
    id: 'attestation-issue',
    title: 'Attest a member',
    purpose: 'Signs that somebody is a member of this network, for other sovereigns to read.',
    fields: [
      { name: 'subject_id', label: 'Member', kind: 'text', required: true },
      { ...ROLES, required: true, initial: 'role:client' },
      { name: 'validity_hours', label: 'Holds, hours', kind: 'number' },
    ],
    target: () => 'POST /admin/attestations',
    carryOut: (client, values) =>
      client.attestations.issue({
        subject_id: text(values, 'subject_id'),
        roles: words(values, 'roles'),
        ...optionalNumber(values, 'validity_hours'),
      }),
  },
  {
    id: 'attestation-revoke',
    title: 'Withdraw an attestation',
    purpose: 'Final. The revocation feed tells the other sovereigns.',
    isFinal: true,
    fields: [{ name: 'attestation_id', label: 'Attestation id', kind: 'text', required: true }, REASON],
    target: (values) => `POST /admin/attestations/${text(values, 'attestation_id')}/revoke`,
    async foresee(client, values) {
      const request = { ...optionalText(values, 'reason'), dryRun: true } as const
      const forecast = await client.attestations.revoke(text(values, 'attestation_id'), request)
      const { accepting_sovereigns: others } = forecast
      const lines = [
        forecast.would_change ? 'The attestation ends now.' : 'Nothing would change: it was withdrawn before.',
        `Members of this network are accepted by ${counted(others.count, 'sovereign')} today${named(others.sample, others.count)}.`,
      ]
      return {
        lines,
        ripple: {
          sources: NOBODY,
          ends: 'this attestation',
          lost: {
            what: 'sovereigns that accept its like and read the feed',
            names: others.sample,
            count: others.count,
          },
        },
      }
    },
    carryOut: (client, values) =>
      client.attestations.revoke(text(values, 'attestation_id'), optionalText(values, 'reason')),
  },
  ...POLICY_ACTIONS,
  {
    id: 'anchor',
    title: 'Anchor the evidence',
    purpose:
      'Signs the head of the evidence store, for you to keep elsewhere: a store rewritten later no longer fits it.',
    fields: [],
    target: () => 'POST /admin/evidence/anchors',
    async foresee(client) {
      const { unanchored_entries, last_store_sequence } = await client.evidence.status()
      return {
        lines: [
          unanchored_entries === 0
            ? 'Nothing would change: the head is anchored.'
            : `Entries up to #${plain(last_store_sequence)} are checked and their head is signed.`,
        ],
      }
    },
    carryOut: async (client) => {
      const { status, anchor } = await client.evidence.anchor()
      return { status, anchor }
    },
  },
]
