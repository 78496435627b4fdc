import { visible } from '@chancery/protocol'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'
import { verdictText } from '../../output/verdict-text.ts'
import { describeProof } from './describe.ts'
import { DISCLOSURE_REASONS } from './reasons.ts'
import { COMMITMENT, PROOF } from './records.ts'

/** Runs `disclose verify`; the exit code is 1 when the proof is not valid. */
export async function runDiscloseVerify(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const proof = await loadRecord(cwd, args.required('proof'), PROOF)
  const { wire: commitment } = await loadRecord(cwd, options.required('commitment'), COMMITMENT)
  const keys = await loadPublicKeys(cwd, options, 'issuer-key')
  const supplied = keys === undefined ? {} : { issuer_public_keys: keys }
  const connection = await connect(context, options)
  const verdict = await connection.ask((client) =>
    client.disclosure.verify({ proof: proof.wire, commitment, ...supplied }),
  )
  const label = verdict.warning === null ? '' : `\n${style.warn(visible(verdict.warning))}`
  const text = `${verdictText(verdict, DISCLOSURE_REASONS, style)}${label}\n${describeProof(proof.record, style)}`
  return { data: verdict, text, exitCode: verdict.valid ? 0 : 1 }
}
