import { resolve } from 'node:path'
import { UNSALTED } from '@chancery/protocol'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { OWNER_ONLY, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { loadRecord } from '../../files/json-file.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeCommitment } from './describe.ts'
import { AGREEMENT, seedFileOf } from './records.ts'

/** Runs `disclose commit`. With --json it prints the signed record and the seed, or with --unsalted the record alone. */
export async function runDiscloseCommit(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const { record, wire } = await loadRecord(cwd, args.required('agreement'), AGREEMENT)
  const chosen = options.list('capability')
  const capabilities = chosen.length === 0 ? record.agreed_terms.capabilities : chosen
  const request = { capabilities, agreement: wire }
  const connection = await connectAsOperator(context, options)
  const head = style.good('Committed:')
  if (options.isSet('unsalted')) {
    const { record: commitment, saved } = await saveRecord(cwd, options, () =>
      connection.ask((client) => client.disclosure.commitUnsalted(request)),
    )
    const text = `${head}\n${describeCommitment(commitment, style)}\n${style.warn(UNSALTED)}${saved}`
    return { data: commitment, text }
  }
  const out = options.text('out')
  const seedFile = out === undefined ? undefined : resolve(cwd, seedFileOf(out))
  if (seedFile !== undefined) await refuseExisting([seedFile])
  let seed = ''
  const { record: commitment, saved } = await saveRecord(cwd, options, async () => {
    const made = await connection.ask((client) => client.disclosure.commit(request))
    seed = made.seed
    // First: a commitment without its seed proves nothing.
    if (seedFile !== undefined) await writeNewFile(seedFile, `${seed}\n`, OWNER_ONLY)
    return made.commitment
  })
  const kept =
    seedFile === undefined
      ? `\nSeed (secret, needed for every proof): ${seed}`
      : `\nThe seed is in ${typed(cwd, seedFile)}. It is secret, and every proof needs it.`
  return { data: { commitment, seed }, text: `${head}\n${describeCommitment(commitment, style)}${saved}${kept}` }
}
