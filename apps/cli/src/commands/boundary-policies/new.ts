import { resolve } from 'node:path'
import { isPolicyId } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { usageError } from '../../errors/failure.ts'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { exampleCases, examplePolicy } from './example.ts'

/** Runs `boundary-policy new`: writes an example policy and test cases that pass. */
export async function runBoundaryPolicyNew(
  context: CommandContext,
  args: Arguments,
  options: Options,
): Promise<Result> {
  const { cwd, style } = context
  const id = args.required('name')
  if (!isPolicyId(id)) throw usageError('A policy id is 1 to 128 characters of A-Z a-z 0-9 . _ : -')
  const folder = options.textOrDefault('dir')
  const [policy, cases] = [resolve(cwd, folder, `${id}.policy.yaml`), resolve(cwd, folder, `${id}.cases.yaml`)]
  await refuseExisting([policy, cases])
  await writeNewFile(policy, examplePolicy(id), FOR_ALL)
  await writeNewFile(cases, exampleCases(id), FOR_ALL)
  const text = `${style.good('Written:')} ${typed(cwd, policy)} and ${typed(cwd, cases)}\nNext: chancery boundary-policy test ${folder}`
  return { data: { policy_id: id, policy_file: policy, cases_file: cases }, ids: [id], text }
}
