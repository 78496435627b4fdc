import { resolve } from 'node:path'
import { writeJson } from '@chancery/protocol'
import { connect } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { keysFileOf, openFollowedKeys } from '../../connection/followed-keys.ts'
import { loadVerifiedGenesis, writeGenesisText } from '../../files/genesis-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { describeGenesis } from './genesis.ts'
import { requireGenesis } from './succeed.ts'

/** Runs `genesis fetch`: saves the newest block that the root key of the given block signed. */
export async function runGenesisFollow(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const file = resolve(cwd, requireGenesis(options))
  const outs = ['out', 'out-history'].map((name) => options.text(name)).filter((each) => each !== undefined)
  if (outs.length === 1)
    throw usageError('Give --out and --out-history together: a block and its history belong together.')
  const [out, historyOut] = outs.map((each) => resolve(cwd, each))
  await refuseExisting([out, historyOut].filter((each) => each !== undefined))
  const pinned = await loadVerifiedGenesis(file)
  const followed = await openFollowedKeys(pinned, keysFileOf(file))
  const connection = await connect(context, options)
  const outcome = await connection.ask((client) => followed.follow(client))
  if (outcome !== 'changed' && outcome !== 'unchanged')
    throw new CommandError({
      code: outcome,
      message: `${connection.url} offers a block that the root of ${typed(cwd, file)} did not sign (${outcome}).`,
      hint: 'Nothing was changed. Inform the operator of the authority.',
    })
  const { genesis, history } = followed.keys
  if (out !== undefined && historyOut !== undefined) {
    if (history === undefined)
      throw new CommandError({ code: 'no_history', message: 'There never was a key succession.' })
    await writeNewFile(out, writeGenesisText(genesis), FOR_ALL)
    await writeNewFile(historyOut, `${writeJson(history)}\n`, FOR_ALL)
  }
  const text =
    outcome === 'changed'
      ? `${style.good('Followed')} the root of ${typed(cwd, file)}: see ${typed(cwd, keysFileOf(file))}.`
      : 'The saved block is the newest.'
  const data = { outcome, genesis, key_history: history ?? null, signing_key: followed.audience }
  return { data, text: `${text}\n${describeGenesis(genesis, context.now(), style)}` }
}
