import { asJson } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadRecord } from '../../files/json-file.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import { loadValidatorKeys } from '../../files/validator-keys.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeConsensus } from './describe.ts'
import { JUSTIFICATION, VOTE } from './records.ts'

/** Runs `consensus assemble`. With --json it prints the signed proof. */
export async function runConsensusAssemble(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const { wire } = await loadRecord(cwd, args.required('justification'), JUSTIFICATION)
  const votes = await Promise.all(args.list('votes').map((file) => loadRecord(cwd, file, VOTE)))
  const validatorKeys = await loadValidatorKeys(cwd, options)
  const request = {
    justification_proof: wire,
    votes: votes.map((vote) => vote.wire),
    required_threshold: wholeNumberOrDefault(options, 'threshold', 1, 1024),
    validator_sovereign_ids: options.list('validator'),
    ...(Object.keys(validatorKeys).length === 0 ? {} : { validator_public_keys: validatorKeys }),
  }
  const connection = await connectAsOperator(context, options)
  const { record: proof, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.consensus.proof(request)),
  )
  const text = `${style.good('Assembled:')}\n${describeConsensus(proof, style)}${saved}`
  return { data: asJson(proof), text }
}
