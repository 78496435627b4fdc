import type { JsonObject } from '@chancery/protocol'

/** Receives all output of a command; see output/screen.ts. */
export interface Output {
  readonly isTTY: boolean
  readonly columns: number | undefined
  /** Returns false when the reader is slower than the writer; {@link Output.drained} waits for the reader. */
  write(text: string): boolean
  drained(): Promise<void>
}

/** Holds what a command returns: data for programs, text for people, and the exit code. */
export interface Result {
  readonly data?: JsonObject
  readonly text?: string
  /** Ids of the listed or made records. With --quiet only they are printed, one per line. */
  readonly ids?: readonly string[]
  /** 0 unless given. 1 is also the code of a negative verdict, such as a block that does not verify. */
  readonly exitCode?: number
}
