import { resolve } from 'node:path'
import { asJson, writeJson } from '@chancery/protocol'
import { FOR_ALL, refuseExisting, typed, writeNewFile } from './files.ts'
import type { Options } from '../arguments/options.ts'

/** Writes a record to the file of --out. Checks the file before signing, because an unsaved record is still valid. */
export async function saveRecord<Value extends object>(
  cwd: string,
  options: Options,
  make: () => Promise<Value>,
): Promise<{ readonly record: Value; readonly saved: string }> {
  const out = options.text('out')
  if (out === undefined) return { record: await make(), saved: '' }
  const file = resolve(cwd, out)
  await refuseExisting([file])
  const record = await make()
  await writeNewFile(file, `${writeJson(asJson(record))}\n`, FOR_ALL)
  return { record, saved: `\nWritten to ${typed(cwd, file)}.` }
}
