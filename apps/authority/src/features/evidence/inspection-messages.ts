/** What the main thread asks the inspecting thread … */
export type InspectionRequest =
  | { readonly kind: 'store' }
  | { readonly kind: 'prefix'; readonly through: number }
  | { readonly kind: 'view'; readonly lines: readonly string[]; readonly resource: string | undefined }
  | {
      readonly kind: 'links'
      readonly run: { readonly after: number; readonly digest: string | null; readonly through: number }
    }

/** … and what it gets. */
export type InspectionReply =
  | { readonly kind: 'done'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string; readonly isStore: boolean }
