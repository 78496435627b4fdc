import { type JsonObject, isJsonObject } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { loadJsonObject, loadRecord } from '../../files/json-file.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeVote } from './describe.ts'
import { DECISION, JUSTIFICATION } from './records.ts'

/** Runs `consensus vote`. With --json it prints the signed vote. */
export async function runConsensusVote(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const file = args.required('justification')
  const { wire } = await loadRecord(cwd, file, JUSTIFICATION)
  const decision = await loadDecision(cwd, file, options.text('decision'))
  const keys = await loadPublicKeys(cwd, options, 'issuer-key')
  const reason = options.text('reason')
  const request = {
    justification_proof: wire,
    vote: args.required('vote') === 'approve',
    ...(reason === undefined ? {} : { reason }),
    ...(keys === undefined ? {} : { justification_public_keys: keys }),
    ...(decision === undefined ? {} : { decision }),
  }
  const connection = await connectAsOperator(context, options)
  const { record: vote, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.consensus.vote(request)),
  )
  return { data: vote, text: `${style.good('Voted:')}\n${describeVote(vote, style)}${saved}` }
}

/** The decision of --decision, else the one in the file that `evaluate` wrote. */
async function loadDecision(cwd: string, file: string, given: string | undefined): Promise<JsonObject | undefined> {
  if (given !== undefined) return (await loadRecord(cwd, given, DECISION)).wire
  const { decision } = await loadJsonObject(cwd, file)
  return isJsonObject(decision) ? decision : undefined
}
