import { REVOCATION_REASONS } from '@chancery/protocol'
import type { RevocationReason } from '@chancery/protocol'
import { jsonObject, optionalNumber, optionalText, text, words } from './action.ts'
import type { Action, Field } from './action.ts'

const ROLES: Field = { name: 'roles', label: 'Roles', kind: 'words', help: 'For example role:client' }
const REASON: Field = { name: 'reason', label: 'Reason', kind: 'text' }

const counted = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`

const list = (sample: readonly string[], count: number): string =>
  sample.length === 0 ? '' : ` (${sample.slice(0, 8).join(', ')}${count > 8 ? ' …' : ''})`

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
      return [
        forecast.would_change
          ? 'The revocation list gets a new version.'
          : 'Nothing would change: it is revoked already.',
        `No longer accepted: ${counted(certificates.count, 'certificate')}${list(certificates.sample, certificates.count)}.`,
        `Out of the registry: ${counted(agents.count, 'agent')}.`,
      ]
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
      return [
        would_change ? 'The treaty ends now.' : 'Nothing would change: it ended before.',
        `Lost: ${paths_lost.complete ? '' : 'at least '}${counted(paths_lost.count, 'trust path')}${list(pairs, paths_lost.count)}.`,
        paths_lost.direct_recognition_lost
          ? 'No other treaty in force joins the two directly.'
          : 'Another treaty in force still joins the two.',
      ]
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
      return [
        forecast.would_change ? 'The attestation ends now.' : 'Nothing would change: it was withdrawn before.',
        `Members of this network are accepted by ${counted(others.count, 'sovereign')} today${list(others.sample, others.count)}.`,
      ]
    },
    carryOut: (client, values) =>
      client.attestations.revoke(text(values, 'attestation_id'), optionalText(values, 'reason')),
  },
  {
    id: 'policy-publish',
    title: 'Publish a boundary policy',
    purpose: 'Signs the next version, inactive. What is wrong with it is shown before.',
    fields: [{ name: 'intent', label: 'Policy as JSON', kind: 'json', required: true }],
    target: () => 'POST /admin/boundary-policies',
    async foresee(client, values) {
      const { valid, issues, policy_id, next_version } = await client.boundaryPolicies.validate(
        jsonObject(values, 'intent'),
      )
      if (valid) return [`${policy_id} becomes version ${next_version}, inactive.`]
      return ['It would be refused:', ...issues.map((issue) => `${issue.code}: ${issue.message}`)]
    },
    carryOut: (client, values) => client.boundaryPolicies.publish(jsonObject(values, 'intent')),
  },
  {
    id: 'policy-activate',
    title: 'Activate a boundary policy',
    purpose: 'From the next request on decisions are made under this version; an earlier one is the rollback.',
    isFinal: true,
    fields: [
      { name: 'policy_id', label: 'Policy id', kind: 'text', required: true },
      { name: 'version', label: 'Version', kind: 'number', required: true },
    ],
    target: (values) => `POST /admin/boundary-policies/${text(values, 'policy_id')}/activate`,
    async foresee(client, values) {
      const { active } = await client.boundaryPolicies.active()
      const current = active.find((each) => each.policy_id === text(values, 'policy_id'))
      return [
        current === undefined ? 'It is not active now.' : `Version ${current.version} is active now and gives way.`,
      ]
    },
    carryOut: (client, values) =>
      client.boundaryPolicies.activate(text(values, 'policy_id'), optionalNumber(values, 'version').version ?? 0),
  },
]
