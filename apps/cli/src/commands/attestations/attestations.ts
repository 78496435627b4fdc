import { canonicalJson, isPlainText, readAttestation, readRecognitionPolicy, visible } from '@chancery/protocol'
import type { Attestation, JsonObject } from '@chancery/protocol'
import type { AttestationVerdict, TreatyAttestationVerdict } from '@chancery/sdk/authority'
import { type Connection, connect } from '../../connection/connection.ts'
import { issueRecord } from '../../connection/record-command.ts'
import type { CommandContext } from '../../context.ts'
import { type Members, type Result, type Style, fields } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { loadJsonObject, loadRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKey, loadPublicKeys } from '../../files/keys.ts'
import { findTreaty } from '../recognition-treaties/replace.ts'
import { reasonText } from '../recognition-treaties/reasons.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import { readPairs } from '../../arguments/pairs.ts'

function attestationMembers(attestation: Attestation): Members {
  const { claims, subject_public_key: key } = attestation
  return [
    ['attestation', attestation.attestation_id],
    ['issuer', attestation.issuer_sovereign_id],
    ['subject', attestation.subject_id],
    ['roles', attestation.roles.join(', ') || '-'],
    ['subject key', key ?? '-'],
    ['valid', `${attestation.valid_from} to ${attestation.expires_at}`],
    ['claims', Object.keys(claims).length === 0 ? '-' : canonicalJson(claims)],
  ]
}

/** Runs `attestation issue`. With --json it prints the signed record, ready for a file. */
export async function runAttestationIssue(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd } = context
  const subject_id = args.required('subject')
  if (!isPlainText(subject_id, 256)) throw usageError('A subject is 1 to 256 characters without control characters.')
  const key = options.text('public-key')
  const request = {
    subject_id,
    roles: options.list('role'),
    validity_hours: wholeNumberOrDefault(options, 'validity-hours', 1, 26_280),
    claims: await readClaims(cwd, options),
    ...(key === undefined ? {} : { subject_public_key: await loadPublicKey(cwd, '--public-key', key) }),
  }
  return issueRecord(context, options, ({ attestations }) => attestations.issue(request), {
    title: 'Attested:',
    members: attestationMembers,
    id: ({ attestation_id }) => attestation_id,
  })
}

async function readClaims(cwd: string, options: Options): Promise<JsonObject> {
  const file = options.text('claims')
  const fromFile = file === undefined ? {} : await loadJsonObject(cwd, file)
  const capabilities = options.list('capability')
  return {
    ...fromFile,
    ...readPairs(options, 'claim'),
    ...(capabilities.length === 0 ? {} : { capabilities }),
  }
}

const ATTESTATION = { name: 'an attestation', member: 'attestation', read: readAttestation } as const
const POLICY = { name: 'a recognition policy', member: 'recognition_policy', read: readRecognitionPolicy } as const

/** Runs `attestation verify`; the exit code is 1 when the attestation is not accepted. */
export async function runAttestationVerify(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  if (options.isSet('treaty') && options.isSet('policy')) throw usageError('Give --treaty or --policy, not both.')
  const attestation = await loadRecord(cwd, args.required('file'), ATTESTATION)
  const connection = await connect(context, options)
  const verdict = await verifyByTrust(context, connection, options, attestation)
  const title = verdict.accepted ? style.good('Accepted:') : style.bad('Not accepted:')
  const trust = 'trust_basis' in verdict ? trustText(verdict) : ''
  const revocation = await findRevocation(connection, attestation)
  const source = verdict.accepted ? `\n${revocationText(revocation, attestation, style)}` : ''
  const members = fields(attestationMembers(attestation), style)
  const text = `${title} ${reasonText(verdict.reason)}\n${members}${trust}${source}`
  return { data: { ...verdict, revocation }, text, exitCode: verdict.accepted ? 0 : 1 }
}

/** What the authority knows of revocations by the issuer. Its verdict does not say it. */
type Revocation = {
  readonly checked: boolean
  /** The imported feed; null for an own attestation, and when none was imported. */
  readonly feed: number | null
  readonly imported_at: string | null
}

async function findRevocation(connection: Connection, attestation: Attestation): Promise<Revocation> {
  const { issuer_sovereign_id: issuer } = attestation
  const { sovereign, revocation_feeds: feeds } = await connection.ask((client) => client.dashboard.view())
  if (issuer === sovereign.id) return { checked: true, feed: null, imported_at: null }
  const feed = feeds.find((each) => each['issuer_sovereign_id'] === issuer)
  if (feed === undefined) return { checked: false, feed: null, imported_at: null }
  const { sequence, imported_at, complete } = feed
  return {
    checked: complete === true,
    feed: typeof sequence === 'number' ? sequence : null,
    imported_at: typeof imported_at === 'string' ? imported_at : null,
  }
}

function revocationText({ checked, feed, imported_at }: Revocation, attestation: Attestation, style: Style): string {
  const issuer = visible(attestation.issuer_sovereign_id)
  if (feed === null)
    return checked
      ? 'Revocation: the authority issued it, and has not revoked it.'
      : `${style.warn('Revocation not checked:')} the authority has no feed of ${issuer}. Import it: chancery feed import <address>`
  const seen = `feed ${feed} of ${issuer}, imported at ${visible(imported_at ?? '-')}`
  return checked
    ? `Revocation: not in ${seen}.`
    : `${style.warn('Revocation not checked in full:')} not in ${seen}, which has not all revocations.`
}

/** The text must show that the caller chose the keys, not the authority. */
function trustText(verdict: TreatyAttestationVerdict): string {
  const trust = `\nBasis: treaty ${visible(verdict.treaty_id)}, ${visible(verdict.trust_basis)}`
  if (!verdict.accepted || verdict.counts_here) return trust
  return `${trust}\nThis verdict uses the keys you gave. The authority does not accept the attestation.`
}

async function verifyByTrust(
  context: CommandContext,
  connection: Connection,
  options: Options,
  attestation: Attestation,
): Promise<AttestationVerdict | TreatyAttestationVerdict> {
  const { cwd } = context
  const given = options.text('treaty')
  const keys = await loadPublicKeys(cwd, options, 'issuer-key')
  if (given !== undefined) {
    const treaty = await findTreaty(context, connection, given)
    const supplied = keys === undefined ? {} : { treaty_issuer_public_keys: keys }
    return connection.ask((client) => client.attestations.verifyWithTreaty({ attestation, treaty, ...supplied }))
  }
  if (keys !== undefined) throw usageError('--issuer-key is the key of a treaty: it needs --treaty.')
  const file = options.text('policy')
  const policy = file === undefined ? {} : { recognition_policy: await loadRecord(cwd, file, POLICY) }
  return connection.ask((client) => client.attestations.verify({ attestation, ...policy }))
}
