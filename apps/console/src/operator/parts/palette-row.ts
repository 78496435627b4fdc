import type { IconName } from './icons.ts'

export interface PaletteRow {
  readonly text: string
  readonly note?: string
  readonly icon: IconName | 'seal'
  readonly href?: string
  readonly run?: () => void
}

export interface PaletteGroup {
  readonly name: 'Do' | 'Open' | 'Find'
  readonly rows: readonly PaletteRow[]
}

export interface PaletteMatch {
  readonly group: PaletteGroup['name']
  readonly row: PaletteRow
}

/** Pages add their rows here: actions («Do», with the seal), things to open, and lists filtered by the text. */
export type PaletteSource = (text: string) => readonly PaletteMatch[]
