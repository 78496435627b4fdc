import { readAttestation, readRecognitionPolicy, visible } from '@chancery/protocol'
import type { Attestation } from '@chancery/protocol'
import type { AttestationVerdict, TreatyAttestationVerdict } from '@chancery/sdk'
import { connect } from '../../connection.ts'
import type { Connection } from '../../connection.ts'
import type { CommandContext, Result } from '../../context.ts'
import { misuse } from '../../failure.ts'
import { loadRecord } from '../../json-file.ts'
import type { Arguments, Options } from '../../options.ts'
import { loadPublicKeys } from '../../public-keys.ts'
import { findTreaty } from '../recognition-treaties/find-treaty.ts'
import { reasonText } from '../recognition-treaties/reasons.ts'
import { describeAttestation } from './describe.ts'

const ATTESTATION = { name: 'an attestation', member: 'attestation', read: readAttestation } as const
const POLICY = { name: 'a recognition policy', member: 'recognition_policy', read: readRecognitionPolicy } as const

/** attestation verify: a verdict is a result, printed as one; the exit code is 1 when it is no. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  if (options.isSet('treaty') && options.isSet('policy')) throw misuse('Give --treaty or --policy, not both.')
  const attestation = await loadRecord(cwd, args.required('file'), ATTESTATION)
  const connection = await connect(context, options)
  const verdict = await judge(context, connection, options, attestation)
  const title = verdict.accepted ? style.good('Accepted:') : style.bad('Not accepted:')
  const ground = 'trust_basis' in verdict ? groundText(verdict) : ''
  const text = `${title} ${reasonText(verdict.reason)}\n${describeAttestation(attestation, style)}${ground}`
  return { data: verdict, text, exitCode: verdict.accepted ? 0 : 1 }
}

/** An acceptance under keys that the caller chose must not read like one of the authority. */
function groundText(verdict: TreatyAttestationVerdict): string {
  const ground = `\nGround: treaty ${visible(verdict.treaty_id)}, ${visible(verdict.trust_basis)}`
  if (!verdict.accepted || verdict.counts_here) return ground
  return `${ground}\nThis is your own judgement, under the keys you gave. The authority itself does not accept it.`
}

async function judge(
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
    const vouched = keys === undefined ? {} : { treaty_issuer_public_keys: keys }
    return connection.ask((client) => client.attestations.verifyWithTreaty({ attestation, treaty, ...vouched }))
  }
  if (keys !== undefined) throw misuse('--issuer-key is the key of a treaty: it needs --treaty.')
  const file = options.text('policy')
  const policy = file === undefined ? {} : { recognition_policy: await loadRecord(cwd, file, POLICY) }
  return connection.ask((client) => client.attestations.verify({ attestation, ...policy }))
}
