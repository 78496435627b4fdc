import { type Attestation, canonicalJson } from '@chancery/protocol'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'

export function describeAttestation(attestation: Attestation, style: Style): string {
  const { claims, subject_public_key: key } = attestation
  return fields(
    [
      ['attestation', attestation.attestation_id],
      ['issuer', attestation.issuer_sovereign_id],
      ['subject', attestation.subject_id],
      ['roles', attestation.roles.join(', ') || '-'],
      ['subject key', key ?? '-'],
      ['valid', `${attestation.valid_from} to ${attestation.expires_at}`],
      ['claims', Object.keys(claims).length === 0 ? '-' : canonicalJson(claims)],
    ],
    style,
  )
}
