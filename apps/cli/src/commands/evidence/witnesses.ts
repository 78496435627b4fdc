import { resolve } from 'node:path'
import { asJson, writeLogPolicy } from '@chancery/protocol'
import type { LogWitnessState } from '@chancery/sdk'
import type { Arguments, Options } from '../../arguments/options.ts'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { FOR_ALL, typed, writeNewFile } from '../../files/files.ts'
import type { Result } from '../../output/result.ts'
import { table } from '../../output/table.ts'
import { findLogTrust } from './log-reading.ts'

/** Runs `evidence witnesses`: exit code 1 when a witness contradicts the log. */
export async function run(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const connection = await connectAsOperator(context, options)
  // Verified, because verifiers will trust the keys of the policy.
  await findLogTrust(connection)
  const log = await connection.ask((client) => client.evidenceLog.describe())
  const state = await connection.ask((client) => client.evidenceLog.witnesses())
  const out = options.text('policy')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  if (file !== undefined)
    await writeNewFile(file, writeLogPolicy(log.verifier_keys, log.witnesses, log.quorum), FOR_ALL)
  const alarms = state.witnesses.filter(({ alarm }) => alarm !== null)
  const { style } = context
  const lines = [
    `Log ${log.origin}: ${state.tree_size} entries. Cosigned: ${state.cosigned_size} entries by ${state.cosigners} of ${state.witnesses.length}; quorum ${state.quorum}.`,
    ...log.verifier_keys.map((key) => `Key of the log: ${key}`),
    ...(state.pending_since === null ? [] : [style.warn(`Without the quorum since ${state.pending_since}.`)]),
    ...(state.witnesses.length === 0 ? [] : [table(HEAD, state.witnesses.map(toRow), style)]),
    ...alarms.map(({ name, alarm, alarm_size }) =>
      style.bad(
        alarm === 'rolled_back'
          ? `THE LOG WAS ROLLED BACK: ${name} has ${alarm_size ?? 0} entries, this authority ${state.tree_size}.`
          : `THE LOG WAS REWRITTEN: ${name} has other entries up to ${alarm_size ?? 0}.`,
      ),
    ),
    ...(file === undefined ? [] : [`Policy for verifiers: ${typed(context.cwd, file)}`]),
  ]
  return {
    data: { ...asJson(state), origin: log.origin, verifier_keys: [...log.verifier_keys] },
    text: lines.join('\n'),
    ids: state.witnesses.map(({ name }) => name),
    exitCode: alarms.length === 0 ? 0 : 1,
  }
}

const HEAD = ['WITNESS', 'SIZE', 'COSIGNED', 'TRIED', 'STATE']

function toRow({
  name,
  known_size,
  cosigned_at,
  tried_at,
  failure,
  alarm,
  proven,
}: LogWitnessState): readonly string[] {
  const trouble = alarm === null ? failure : `${alarm}${proven ? ', proven' : ''}`
  return [name, String(known_size), cosigned_at ?? '-', tried_at ?? '-', trouble ?? 'ok']
}
