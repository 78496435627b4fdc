import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, verdictText } from '../../output/screen.ts'
import { loadRecord } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/keys.ts'
import { loadValidatorKeys } from '../../files/validator-keys.ts'
import { CONSENSUS, CONSENSUS_REASONS, describeConsensus } from './consensus.ts'

/** Runs `consensus verify`; the exit code is 1 when the proof is not valid. */
export async function runConsensusVerify(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record, wire } = await loadRecord(cwd, args.required('proof'), CONSENSUS)
  const validator_public_keys = await loadValidatorKeys(cwd, options)
  const keys = await loadPublicKeys(cwd, options, 'assembler-key')
  const assembled = keys === undefined ? {} : { assembler_public_keys: keys }
  const connection = await connect(context, options)
  const verdict = await connection.ask((client) =>
    client.consensus.verify({ proof: wire, validator_public_keys, ...assembled }),
  )
  const text = `${verdictText(verdict, CONSENSUS_REASONS, style)}\n${describeConsensus(record, style)}`
  return { data: verdict, text, exitCode: verdict.valid ? 0 : 1 }
}
