import type { Options } from '../../arguments/options.ts'

/** Without the option the authority returns its newest license. */
export function licenseeOf(options: Options): { licensee_sovereign_id?: string } {
  const licensee = options.text('licensee')
  return licensee === undefined ? {} : { licensee_sovereign_id: licensee }
}
