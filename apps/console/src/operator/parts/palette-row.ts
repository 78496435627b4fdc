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
