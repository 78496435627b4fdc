import { buildConsoleWhenChanged } from '../release/build-console.ts'

/** Before the tests of the console: the files its pages load. */
export async function setup(): Promise<void> {
  await buildConsoleWhenChanged()
}
