import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { asJson, isPlainText, proveMembership } from '@chancery/protocol'
import type { CapabilityCommitment, CapabilityMembershipProof } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import { loadRecord } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeProof } from './describe.ts'
import { COMMITMENT, seedFileOf } from './records.ts'

/** Runs `disclose prove` on this machine, so that hidden capabilities are not sent. */
export async function runDiscloseProve(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const path = args.required('commitment')
  const { record: commitment } = await loadRecord(cwd, path, COMMITMENT)
  const seed = commitment.salted === true ? await loadSeed(cwd, options.text('seed') ?? seedFileOf(path)) : undefined
  const { record, saved } = await saveRecord(cwd, options, async () => prove(context, options, commitment, seed))
  return { data: asJson(record), text: `${style.good('Proved:')}\n${describeProof(record, style)}${saved}` }
}

/** 64 hexadecimal digits, as `disclose commit` wrote them. */
async function loadSeed(cwd: string, path: string): Promise<string> {
  const seed = (await readText(resolve(cwd, path), 200)).trim()
  if (/^[0-9a-f]{64}$/.test(seed)) return seed
  throw usageError(`${path} does not have the seed of a commitment.`, 'Give the file with --seed.')
}

function prove(
  { now }: CommandContext,
  options: Options,
  commitment: CapabilityCommitment,
  seed: string | undefined,
): CapabilityMembershipProof {
  const prover_sovereign_id = options.required('prover')
  if (!isPlainText(prover_sovereign_id, 128)) throw usageError('--prover is 1 to 128 characters.')
  const [capability, capabilities] = [options.required('reveal'), options.list('capability')]
  const named = { proof_id: randomUUID(), prover_sovereign_id, now: now() }
  const salted = seed === undefined ? {} : { seed }
  const proof = proveMembership({ capability, capabilities, commitment, ...salted, ...named })
  if (proof !== undefined) return proof
  const count = commitment.capability_count
  const hint =
    seed === undefined
      ? `The commitment was made over ${count} ${count === 1 ? 'capability' : 'capabilities'}: give each of them with --capability.`
      : `The commitment was made over at most ${count} capabilities: give each of them with --capability, and the seed of this commitment.`
  throw new CommandError({ code: 'prove_failed', message: 'These capabilities are not those of the commitment.', hint })
}
