import { visible, writeInstant } from '@chancery/protocol'
import type { UnknownReport } from './unknown.ts'
import type { LostRecord } from './unknown-records.ts'

/** Describes records that others have and the database lacks, each with what to do about it. */
export function describeUnknown(report: UnknownReport): readonly string[] {
  const lines = [...describeCertificates(report), ...describeRecords(report), ...describeEvents(report)]
  // Types, subjects and roles are as the file has them.
  return lines.map((line) => visible(line))
}

function describeCertificates(report: UnknownReport): readonly string[] {
  const { certificates, listed, validAgain, foreign, ended } = report
  const lines = [
    `certificates that the database does not know: ${certificates.length}`,
    ...certificates.map(({ cert_id, node_public_key, certificate, revokedFor }) => {
      const known = certificate === undefined ? 'id and key only' : `certificate, ends ${certificate.expires_at}`
      const later = revokedFor === undefined ? '' : `  revoked later: ${revokedFor}`
      return `  ${cert_id}  key ${node_public_key}  ${known}${later}`
    }),
  ]
  if (certificates.length > 0)
    lines.push('  Adopt those with a certificate: --unknown adopt. Revoke all of them: --unknown revoke.')
  if (validAgain.length > 0)
    lines.push(
      `certificates revoked after the backup and in use here again: ${validAgain.length}`,
      ...validAgain.map(({ cert_id, revokedFor }) => `  ${cert_id}  ${revokedFor}`),
      '  Revoke them again: --unknown revoke, or --unknown adopt.',
    )
  if (listed.length > 0) lines.push(`on the list, and without a row: ${listed.length}`)
  if (foreign > 0) lines.push(`files that hold no certificate of this authority: ${foreign}`)
  if (ended > 0) lines.push(`certificates that have ended, nothing to do: ${ended}`)
  return lines
}

function describeRecords(report: UnknownReport): readonly string[] {
  const { attestations, attestationsValidAgain, treaties, treatiesValidAgain } = report
  return [
    ...group('attestations that the database does not know', attestations, 'subject', [
      'Partners accept them until they end. Revoke them: --unknown revoke. Then issue new ones:',
      'chancery attestation issue <subject> --role <role>',
    ]),
    ...group('attestations revoked after the backup and valid here again', attestationsValidAgain, 'subject', [
      'Revoke them again: --unknown revoke, or --unknown adopt.',
    ]),
    ...group('treaties that the database does not know', treaties, 'with', [
      'They are not in force here. Issue them again: chancery partner add <address> --root-key <file>',
    ]),
    ...group('treaties revoked after the backup and in force here again', treatiesValidAgain, 'with', [
      'Revoke them again: --unknown revoke, or --unknown adopt.',
    ]),
  ]
}

function group(
  title: string,
  records: readonly LostRecord[],
  word: 'subject' | 'with',
  advice: readonly string[],
): readonly string[] {
  if (records.length === 0) return []
  const lines = records.map((record) => `  ${describeRecord(record, word)}`)
  return [`${title}: ${records.length}`, ...lines, ...advice.map((line) => `  ${line}`)]
}

function describeRecord({ id, subject, roles, issuedAt, issuedBy, revokedFor }: LostRecord, word: string): string {
  const facts = [
    id,
    ...(subject === undefined ? [] : [`${word} ${subject}`]),
    ...(roles.length === 0 ? [] : [`roles ${roles.join(',')}`]),
    ...(issuedAt === undefined ? [] : [`issued ${writeInstant(issuedAt)}`]),
    ...(issuedBy === undefined ? [] : [`by ${issuedBy}`]),
    ...(revokedFor === undefined ? [] : [`revoked later: ${revokedFor}`]),
  ]
  return facts.join('  ')
}

function describeEvents({ events }: UnknownReport): readonly string[] {
  const types = Object.entries(events).sort(([a], [b]) => (a < b ? -1 : 1))
  if (types.length === 0) return []
  return ['audit events that the database does not have:', ...types.map(([type, count]) => `  ${count} ${type}`)]
}
