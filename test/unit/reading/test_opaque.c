// SPDX-License-Identifier: BSD-3-Clause
// OpaqueString by the tables of RFC 8265 (4.3), the rules of RFC 5892 appendix A with allowed and
// forbidden cases of each, and the two test vectors of RFC 8489 appendix B.
#include <stdlib.h>
#include <string.h>

#include "reading/opaque.h"
#include "test.h"

static void becomes(const char *text, const char *wanted)
{
	struct opaque_fault f;
	char *got = opaque_string(text, &f), *again;

	if (got == NULL)
		fail_msg("'%s': fault %d, U+%04X", text, f.kind, f.character);
	assert_string_equal(got, wanted);
	assert_int_equal(f.kind, OPAQUE_FINE);
	again = opaque_string(got, &f); // a second pass changes nothing (RFC 8264 7)
	assert_string_equal(again, wanted);
	free(again);
	free(got);
}

static void stays(const char *text)
{
	becomes(text, text);
}

static void fails(const char *text, enum opaque_fault_kind kind, uint32_t character, size_t offset)
{
	struct opaque_fault f;

	assert_null(opaque_string(text, &f));
	assert_int_equal(f.kind, kind);
	assert_int_equal(f.character, character);
	assert_int_equal(f.pos, offset);
}

// RFC 8265 4.3, examples 12 to 18.
static void test_examples(void **state)
{
	stays("correct horse battery staple");
	stays("Correct Horse Battery Staple"); // differs: no case mapping
	stays("\u03c0\u00df\u00e5");
	stays("Jack of \u2666s");
	becomes("foo\u1680bar", "foo bar"); // OGHAM SPACE MARK
	fails("", OPAQUE_EMPTY, 0, 0);
	fails("my cat is a \x09"
	      "by",
		OPAQUE_CHARACTER, 0x09, 13);
}

static void test_spaces(void **state)
{
	becomes("a\u00a0b\u2000c\u2003d\u202fe\u205ff\u3000g", "a b c d e f g");
	stays("  two, and two behind  "); // no space is removed
	stays(" ");
	fails("a\u200bb", OPAQUE_CHARACTER, 0x200b, 2); // ZERO WIDTH SPACE is no space
	fails("\ufeffname", OPAQUE_CHARACTER, 0xfeff, 1);
	fails("a\u2028b", OPAQUE_CHARACTER, 0x2028, 2); // LINE SEPARATOR
}

// 4.2.2: NFC, and neither width nor case.
static void test_composed(void **state)
{
	becomes("Zoe\u0308", "Zo\u00eb");
	becomes("\u212b", "\u00c5"); // ANGSTROM SIGN
	becomes("q\u0307\u0323", "q\u0323\u0307"); // marks in canonical order
	becomes("\u1112\u1161\u11ab", "\ud55c"); // conjoining jamo, as some keyboards send them
	becomes("\u0958", "\u0915\u093c"); // which NFC decomposes
	stays("\uff41\uff11"); // fullwidth
	stays("\u01c5\u2163\u20dd"); // titlecase, roman numeral, enclosing mark
	stays("\u3131\ufb01\u00aa\u2168"); // compatibility characters
	stays("\U0001f511"); // an emoji, of 4 bytes
	fails("\u1112", OPAQUE_CHARACTER, 0x1112, 1); // jamo without a syllable
}

// RFC 8489 appendix B: the name stays. The RFC prepared the password with the older SASLprep; by
// the profile that its text names, the soft hyphen is an error, and the other characters are
// unchanged.
static void test_vectors(void **state)
{
	stays("\u30de\u30c8\u30ea\u30c3\u30af\u30b9");
	stays("TheMatrIX");
	stays("TheM\u00aatr\u2168");
	fails("The\u00adM\u00aatr\u2168", OPAQUE_CHARACTER, 0x00ad, 4);
}

static void test_disallowed(void **state)
{
	static const struct {
		const char *text;
		uint32_t c;
	} no[] = {{"a\x7f", 0x7f}, {"a\xc2\x85", 0x85}, // controls
		{"a\u0378", 0x0378}, // unassigned
		{"a\ue000", 0xe000}, // private use
		{"a\ufdd0", 0xfdd0}, {"a\uffff", 0xffff}, // noncharacters
		{"a\u202e", 0x202e}, {"a\u2066", 0x2066}, // directions
		{"a\ufe0f", 0xfe0f}, {"a\U000e0041", 0xe0041}, // variation selector, tag
		{"a\u3164", 0x3164}, // HANGUL FILLER
		{"a\u0640", 0x0640}, {"a\u07fa", 0x07fa}, {"a\u302e", 0x302e}, // RFC 8264 9.6
		{"a\u3031", 0x3031}, {"a\u303b", 0x303b}};

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		fails(no[i].text, OPAQUE_CHARACTER, no[i].c, 2);
	stays("\u06fd\u06fe\u0f0b\u3007\u00df\u03c2"); // its exceptions, which are valid
	fails("\xff", OPAQUE_UTF8, 0, 0);
	fails("a\xc0\xaf", OPAQUE_UTF8, 0, 0); // overlong
	fails("a\xed\xa0\x80", OPAQUE_UTF8, 0, 0); // surrogate
	fails("a\xe2\x82", OPAQUE_UTF8, 0, 0); // truncated
}

// RFC 5892 A.1 and A.2
static void test_joiners(void **state)
{
	stays("\u0915\u094d\u200c\u0937"); // after a virama
	stays("\u0915\u094d\u200d\u0937");
	stays("\u0646\u0627\u0645\u0647\u200c\u0627\u06cc"); // between letters that would join
	stays("\u0628\u064e\u200c\u064e\u0628"); // with marks around it
	fails("a\u200cb", OPAQUE_CONTEXT, 0x200c, 2);
	fails("\u0628\u200c", OPAQUE_CONTEXT, 0x200c, 2);
	fails("\u200c\u0628", OPAQUE_CONTEXT, 0x200c, 1);
	fails("\u0627\u200c\u0628", OPAQUE_CONTEXT, 0x200c, 2); // alef does not join what follows
	fails("\u0628\u200d\u0628", OPAQUE_CONTEXT, 0x200d, 2);
}

// A.3 to A.9
static void test_context(void **state)
{
	stays("l\u00b7l");
	fails("l\u00b7a", OPAQUE_CONTEXT, 0x00b7, 2);
	fails("\u00b7l", OPAQUE_CONTEXT, 0x00b7, 1);
	fails("l\u00b7", OPAQUE_CONTEXT, 0x00b7, 2);
	stays("\u0375\u03b1");
	fails("\u0375a", OPAQUE_CONTEXT, 0x0375, 1);
	fails("\u03b1\u0375", OPAQUE_CONTEXT, 0x0375, 2);
	stays("\u05d0\u05f3\u05d1\u05f4");
	fails("\u05f3\u05d0", OPAQUE_CONTEXT, 0x05f3, 1);
	fails("a\u05f4", OPAQUE_CONTEXT, 0x05f4, 2);
	stays("a\u30fb\u30a2");
	stays("\u65e5\u30fb\u672c");
	stays("\u30fb\u3042");
	fails("a\u30fbb", OPAQUE_CONTEXT, 0x30fb, 2);
	stays("\u0661\u0662");
	stays("\u06f1\u06f2");
	fails("\u0661\u06f2", OPAQUE_CONTEXT, 0x0661, 1);
	fails("a\u06f2\u0661", OPAQUE_CONTEXT, 0x06f2, 2);
}

// The greatest growth of a text.
static void test_growth(void **state)
{
	char text[1024], wanted[4096] = "";

	memset(text, 0, sizeof(text));
	for (unsigned int i = 0; i < 300; i++) {
		strcat(text, "\u0958");
		strcat(wanted, "\u0915\u093c");
	}
	becomes(text, wanted);
	memset(text, 0, sizeof(text));
	memset(wanted, 0, sizeof(wanted));
	for (unsigned int i = 0; i < 200; i++) {
		strcat(text, "\U0001d160"); // a musical note: three characters of 4 bytes
		strcat(wanted, "\U0001d158\U0001d165\U0001d16e");
	}
	becomes(text, wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples),
		cmocka_unit_test(test_spaces), cmocka_unit_test(test_composed),
		cmocka_unit_test(test_vectors), cmocka_unit_test(test_disallowed),
		cmocka_unit_test(test_joiners), cmocka_unit_test(test_context),
		cmocka_unit_test(test_growth)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
