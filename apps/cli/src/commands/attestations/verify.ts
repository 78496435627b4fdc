import { readAttestation, readRecognitionPolicy, visible } from '@chancery/protocol'
import type { Attestation } from '@chancery/protocol'
import type { AttestationVerdict, TreatyAttestationVerdict } from '@chancery/sdk'
import { connect } from '../../connection/connection.ts'
import type { Connection } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { loadRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'
import { findTreaty } from '../recognition-treaties/find-treaty.ts'
import { reasonText } from '../recognition-treaties/reasons.ts'
import { describeAttestation } from './describe.ts'

const ATTESTATION = { name: 'an attestation', member: 'attestation', read: readAttestation } as const
const POLICY = { name: 'a recognition policy', member: 'recognition_policy', read: readRecognitionPolicy } as const

/** Runs `attestation verify`; the exit code is 1 when the attestation is not accepted. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  if (options.isSet('treaty') && options.isSet('policy')) throw usageError('Give --treaty or --policy, not both.')
  const attestation = await loadRecord(cwd, args.required('file'), ATTESTATION)
  const connection = await connect(context, options)
  const verdict = await verifyByTrust(context, connection, options, attestation)
  const title = verdict.accepted ? style.good('Accepted:') : style.bad('Not accepted:')
  const trust = 'trust_basis' in verdict ? trustText(verdict) : ''
  const text = `${title} ${reasonText(verdict.reason)}\n${describeAttestation(attestation, style)}${trust}`
  return { data: verdict, text, exitCode: verdict.accepted ? 0 : 1 }
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
