import { usageError } from '../../errors/failure.ts'
import type { Arguments } from '../../arguments/options.ts'

export function readVersion(args: Arguments): number {
  const text = args.required('version')
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw usageError('A version is a whole number, at least 1.')
  return Number(text)
}
