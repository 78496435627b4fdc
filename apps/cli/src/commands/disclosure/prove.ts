import { randomUUID } from 'node:crypto'
import { asJson, isPlainText, proveMembership } from '@chancery/protocol'
import type { CapabilityCommitment, CapabilityMembershipProof } from '@chancery/protocol'
import type { CommandContext, Result } from '../../context.ts'
import { Failure, misuse } from '../../failure.ts'
import { loadRecord } from '../../json-file.ts'
import { keepRecord } from '../../kept-record.ts'
import type { Arguments, Options } from '../../options.ts'
import { describeProof } from './describe.ts'
import { COMMITMENT } from './records.ts'

/** disclose prove: made here, so that nobody learns the capabilities that stay hidden. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record: commitment } = await loadRecord(cwd, args.required('commitment'), COMMITMENT)
  const { record, kept } = await keepRecord(cwd, options, async () => prove(context, options, commitment))
  return { data: asJson(record), text: `${style.good('Proved:')}\n${describeProof(record, style)}${kept}` }
}

function prove({ now }: CommandContext, options: Options, commitment: CapabilityCommitment): CapabilityMembershipProof {
  const prover_sovereign_id = options.required('prover')
  if (!isPlainText(prover_sovereign_id, 128)) throw misuse('--prover is 1 to 128 characters.')
  const [capability, capabilities] = [options.required('reveal'), options.list('capability')]
  const named = { proof_id: randomUUID(), prover_sovereign_id, now: now() }
  const proof = proveMembership({ capability, capabilities, commitment, ...named })
  if (proof !== undefined) return proof
  const count = commitment.capability_count
  const hint = `The commitment was made over ${count} ${count === 1 ? 'capability' : 'capabilities'}: give each of them with --capability.`
  throw new Failure({ code: 'prove_failed', message: 'These capabilities are not those of the commitment.', hint })
}
