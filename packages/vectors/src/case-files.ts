import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** One question to an implementation, with the only right answer. */
export interface ConformanceCase {
  readonly id: string
  readonly operation: string
  readonly input: { readonly [name: string]: Json }
  readonly expected: { readonly [name: string]: Json }
}

export interface CaseFile {
  readonly format: 'chancery-conformance'
  readonly version: 1
  readonly group: string
  /** Where the expected values come from. */
  readonly source: string
  readonly cases: readonly ConformanceCase[]
}

const FOLDER = join(import.meta.dirname, '..', 'cases')

/** The files of the package, in the order of their names. */
export async function readCaseFiles(folder: string = FOLDER): Promise<readonly CaseFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted()
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8')) as CaseFile))
}
