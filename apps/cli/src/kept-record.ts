import { resolve } from 'node:path'
import { asJson, writeJson } from '@chancery/protocol'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from './files.ts'
import type { Options } from './options.ts'

/** A record asked for with --out: the file is refused before anything is signed, for a record nobody kept still holds. */
export async function keepRecord<Value extends object>(
  cwd: string,
  options: Options,
  make: () => Promise<Value>,
): Promise<{ readonly record: Value; readonly kept: string }> {
  const out = options.text('out')
  if (out === undefined) return { record: await make(), kept: '' }
  const file = resolve(cwd, out)
  await refuseExisting([file])
  const record = await make()
  await writeNewFile(file, `${writeJson(asJson(record))}\n`, FOR_ALL)
  return { record, kept: `\nWritten to ${typed(cwd, file)}.` }
}
