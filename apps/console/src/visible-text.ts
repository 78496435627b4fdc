import { visible } from '@chancery/protocol'
import { options } from 'preact'

/**
 * Escapes control and format characters in every text that the script shows, because they can hide or reorder text.
 * Import this module before rendering.
 */
options.vnode = (vnode) => {
  // A text node has no type, and its properties are the text itself.
  const drawn = vnode as { type: unknown; props: unknown }
  if (drawn.type === null && typeof drawn.props === 'string')
    drawn.props = visible(drawn.props, { keepLineBreaks: true })
}
