import { randomUUID } from 'node:crypto'
import { asJson, isPlainText, proveMembership } from '@chancery/protocol'
import type { CapabilityCommitment, CapabilityMembershipProof } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { loadRecord } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeProof } from './describe.ts'
import { COMMITMENT } from './records.ts'

/** Runs `disclose prove` on this machine, so that hidden capabilities are not sent. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record: commitment } = await loadRecord(cwd, args.required('commitment'), COMMITMENT)
  const { record, saved } = await saveRecord(cwd, options, async () => prove(context, options, commitment))
  return { data: asJson(record), text: `${style.good('Proved:')}\n${describeProof(record, style)}${saved}` }
}

function prove({ now }: CommandContext, options: Options, commitment: CapabilityCommitment): CapabilityMembershipProof {
  const prover_sovereign_id = options.required('prover')
  if (!isPlainText(prover_sovereign_id, 128)) throw usageError('--prover is 1 to 128 characters.')
  const [capability, capabilities] = [options.required('reveal'), options.list('capability')]
  const named = { proof_id: randomUUID(), prover_sovereign_id, now: now() }
  const proof = proveMembership({ capability, capabilities, commitment, ...named })
  if (proof !== undefined) return proof
  const count = commitment.capability_count
  const hint = `The commitment was made over ${count} ${count === 1 ? 'capability' : 'capabilities'}: give each of them with --capability.`
  throw new CommandError({ code: 'prove_failed', message: 'These capabilities are not those of the commitment.', hint })
}
