/* unicode.c - classes and simple forms of characters for the subword encoders, expanded from
 * compact texts.
 *
 * Generated with Python's unicodedata 14.0.0. A later version of Unicode has more letters, so that
 * an update would change prepared corpora. */
#include "prepare/subword.h"

#include <stdlib.h>
#include <string.h>

#include "prepare/text.h"

/* The classes of all characters from U+0000 on: a letter of enum unicode_class and a repeat count
 * (none: one). L, N and P are Unicode's categories of that letter, P also every other ASCII symbol;
 * M is category Mn; - any other. */
static const char classes[] =
    "-33P15N10P7L26P6L26P4-34P-5P-2LP-6N2-LP2-NLPN3PL23-L31-L458-4L12-14L5-7L-L-17M112L5-L2-2L4PL"
    "-6LPL3-L-L20-L83-L139-M5-2L166-L38-2LP6L41P2-6M45PMPM2PM2PM-8L27-4L4P2-20P2-P2-2M11P-P3L43M2"
    "1N10P4L2ML99PLM7-2M6L2M2-M4L2N10L3-2LP14-2LML30M27-2L89M11L-14N10L33M9L2-P3L-2M-2L22M4LM9LM3"
    "LM5-2P15-L25M3-2P-L11-5L24-L6-9M8L42M24-M32-L54M-ML-3M8-4M-2LM7L10M2P2N10PL16M-3L8-2L2-2L22-"
    "L7-L-3L4-2ML-3M4-8ML-13L2-L3M2-2N10L2-2N6-2LPM-2M2-2L6-4L2-2L22-L7-L2-L2-L2-2M-4M2-4M2-2M3-3"
    "M-7L4-L-7N10M2L3MP-10M2-2L9-L3-L22-L7-L2-L5-2ML-3M5-M2-4M-2L-15L2M2-2N10P-8LM6-M-3L8-2L2-2L2"
    "2-L7-L2-L5-2ML-M-M4-8M-7M2-5L2-L3M2-2N10-LN6-10ML-L6-3L3-L4-3L2-L-L2-3L2-3L3-3L12-6M-12M-2L-"
    "21N13-13M-3ML8-L3-L23-L16-2MLM3-5M3-M4-7M2-L3-2L-2L2M2-2N10-7PN7-LM-2PL8-L3-L23-L10-L5-2ML-M"
    "-6M-5M2-15L2-L2M2-2N10-L2-13M2-2L9-L3-L41M2L-3M4-8ML-5L3-N7L3M2-2N19-L6-M-3L18-3L24-L9-L-2L7"
    "-3M-7M3-M-15N10-4P-12L48ML2M7-5L7M8PN10P2-37L2-L-L5-L24-L-L10ML2M9L-2L5-L-M6-2N10-2L4-32L-3P"
    "15-P-3M2-6N20-M-M-MP4-2L8-L36-4M14-M5PM2L5M11-M36-9M-9P5-4P2-37L43-2M4-M6-M2-2M2LN10P6L6-2M2"
    "L4M3L-3L2-7L3M4L13M-2M2-6ML-N10-3M-2L38-L-5L-2L43PL333-L4-2L7-L-L4-2L41-L4-2L33-L4-2L7-L-L4-"
    "2L15-L57-L4-2L67-2M3P9N20-3L16-16L86-2L6-2PL620-PL17-L26P2-3L75P3N3L8-7L18M3-10L19M2-P2-9L18"
    "M2-12L13-L3-M2-12L52M2-M7-8M-2M11P3LP3-LM-2N10-6N10-6P11M3-MN10-6L89-7L5M2L34ML-5L70-10L31-M"
    "3-4M2-9M-6M3-8P2N10L30-2L5-11L44-4L26-6N11-37L23M2-2M-2P2L53-M-M7-M-M-2M8-6M10-2MN10-6N10-6P"
    "7LP6-2M14-M16-49M4-L47M-M5-M-5M-2L8-3N10P7-10M9-9P2-M2-L30-M4-2M2-M3L2N10L44M-M2-3M-M3-10P4L"
    "36-8M8-2M2-3P5N10-3L3N10L36P2L9-7L43-2L3P8-8M3PM13-M7L4ML6ML2-M2L-5L192M64L278-2L6-2L38-2L6-"
    "2L8-L-L-L-L31-2L53-L7-L-3L3-L7-3L4-2L6-4L13-5L3-L7-19P24-8P20-P13-P12-17NL-2N6-3P2LN10-3P2-L"
    "13-51M13-4M-3M12-17L-4L-2L10-L-3L5-6L-L-L-L4-L11-2L4-5L5-4L-N51L2N5-382P4-29P2-309N60-78N22-"
    "616P14N30-49P2-31P10-403P22-63P4-32P2-514L229-6L4M3L2-5P4NP2L38-L-5L-2L56-7LP-14ML23-9L7-L7-"
    "L7-L7-L7-L7-L7-L7-M32P47LP32-2P12-419P3-L2NP10-2P12-N9M4-2PL5-2N3L2P-3L86-2M2-2L3PL90PL4-5L4"
    "3-L94-3N4-10L32-48L16-32N10-30N8-N15-32N10-39N15-320L6592-64L22157-67L46P2L269P3L16N10L2-20L"
    "47M-3PM10PL31M2L70N10M2P6-31L9-2L103-2L64-5L2-L-L5-24L16ML3ML4ML23-2M2-5M-3N6-10L52P4-10L50-"
    "16M2-8P2N10-6M18L6P3LPL2MN10L28M8P2L23M11-13PL29-3M3-L47M-2M4-2M2-3P13-LN10-4P2L5ML10N10L5-L"
    "41M6-2M2-2M2-9L3ML8M-3N10-2P4L23-3L-M-L50MLM3L2M2L5M2LML-24L3P2L11-M2-2P2L3-M-10L6-2L6-2L6-9"
    "L7-L7-L43-L14-6L115-2M-2M-2P-M-2N10-6L11172-12L23-4L49-8452L366-2L106-38L7-12L5-5LML10-L13-L"
    "5-L-L2-L2-L108-33L363P2-16L64-2L54-40L12-4M16P10-6M16P35-P14-P-4P-P2-4L5-L135-4P3-P6-P4N10P2"
    "-3P2L26P3-P-L26P-P-P7L89-3L6-2L6-2L6-2L3-35L12-L26-L19-L2-L15-2L14-34L123-5P3-4N45-12N57-17N"
    "2-113M-130L29-3L49-15MN27-4L32N4-9L20NL8N-5L38M5-5L30-PL36-4L8PN5-42L158-2N10-6L36-4L36-4L40"
    "-8L52-11PL11-L15-L7-L2-L11-L15-L7-L2-67L311-9L22-10L8-24L6-L42-L9-69L6-2L-L44-L2-3L-2L23-PN8"
    "L23-2N7L31-8N9-48L19-L2-5N5L22N6-3PL26-5P-64L56-4N2L2N16-2N46LM3-M2-5M4L4-L3-L29-2M3-4MN9-7P"
    "9-7L29N2PL29N3-32L8-L28M2-4N5P7-9L54-3P7L22-2N8L19-5N8L18-7P4-12N7-80L73-55L51-13L51-7N6L36M"
    "4-8N10-294N31-L42-M2P-2L2-78L29N10L-8L22M11N4P5-22L18M4P4-38L21N7-20L23-10M-L53M15P7-4N30ML2"
    "M2L-9M3-L45-3M4-2M2P2-P4M-13L25-7N10-6M3L36M5-M8-N10P4L-2L-8L35MP2L-9M2-L48-3M9-2L4P4M4P-MN1"
    "0LPLP3-N20-11L18-L25-3M3-2M-M2P6M-65L7-L-L4-L15-L10P-6L47M-3M8-5N10-6M2-3L8-2L2-2L22-L7-L2-L"
    "5-M2L-2M-15L-12L5-4M7-3M5-139L53-3M8-2M3-ML4P5N10P2-PML3-30L48-3M6-M-4M2-M2L2PL-8N10-166L47-"
    "3M4-6M2-M2P23L4M2-34L48-3M8-2M-M2P3L-11N10-6P13-19L43M-M-2M6-MLP-6N10-54L27-2M3-2M4-M5-4N12P"
    "3-L7-185L44-3M9-M2P-100L64N19-12L8-2L-2L8-L2-L24-11M2-ML-L-MP3-9N10-70L8-2L39-3M4-2M2-4MLPL-"
    "28LM10L40M6-LM4P8M-8LM6-2M3L46M13-M2P3LP5-13L73-263L9-L37-M7-M6-MLP5-10N29-3P2L30-2M22-2M7-M"
    "2-M2-73L7-L2-L38M6-3M-M2-M7LM-8N10-6L6-L2-L32-6M2-3M-ML-7N10-310L19M2-2P2-183L-15N21-42PL922"
    "-102N111-P5-11L196-2636L97P2-13L1071-4049L583-8633L569-7L31-N10-4P2L79-N10-6L30-2M5P-10L48M7"
    "P5-4L4P-11N10-N7-L21-5L19-688L64N23P4-101L75-4ML-62M4L13-64L2PLM-27L6136-8L1238-42L9-8935L4-"
    "L7-L2-L291-45L3-17L4-8L396-2308L107-5L13-3L9-7L10-3M2P-4704M46-2M23-544M3-17M8-2M7-30M4-148M"
    "3-155N20-108N25-135L85-L71-L2-2L-2L2-2L4-L12-L-L7-L65-L4-2L8-L7-L28-L4-L5-L-3L7-L340-2L25-L2"
    "5-L31-L25-L31-L25-L31-L25-L31-L25-L8-2N50-512M55-4M50-8M-14M-2P5-15M5-M15-1104L31-225M7-M17-"
    "2M7-M2-M5-213L45-3M7L7-2N10-4L-321L30M-17L44M4N10-1254L7-L4-L2-L15-L197-2N9M7-41L68M7L-4N10-"
    "4P2-785N59-N3-N4-76N45-N15-194L4-L27-L2-L-2L-L10-L4-L-L-6L-4L-L-L-L3-L2-L-2L-L-L-L-L-L2-L-2L"
    "4-L7-L4-L4-L-L10-L17-5L3-L5-L17-580N13-2787N10-1030L42720-32L4153-7L222-2L5762-14L7473-3103L"
    "542-1506L4939-716213M240";

/* Simple forms of the characters from `first` on: lower case, decomposed (NFD), without marks, if
 * that is one character. A space: the character itself. */
static const struct {
    uint32_t first;
    const char *images;
} alphabets[] = {
    {0xc0, "aaaaaaæceeeeiiiiðnooooo×øuuuuyþßaaaaaaæceeeeiiiiðnooooo÷øuuuuyþy"
           "aaaaaaccccccccddđđeeeeeeeeeegggggggghhħħiiiiiiiiiıĳĳjjkkĸllllllŀ"
           "ŀłłnnnnnnŉŋŋooooooœœrrrrrrssssssssttttŧŧuuuuuuuuuuuuwwyyyzzzzzzſ"
           "ƀɓƃƃƅƅɔƈƈɖɗƌƌƍǝəɛƒƒɠɣƕɩɨƙƙƚƛɯɲƞɵooƣƣƥƥʀƨƨʃƪƫƭƭʈuuʊʋƴƴƶƶʒƹƹƺƻƽƽƾƿ"
           "ǀǁǂǃǆǆǆǉǉǉǌǌǌaaiioouuuuuuuuuuǝaaaaææǥǥggkkooooʒʒjǳǳǳggƕƿnnaaææøø"
           "aaaaeeeeiiiioooorrrruuuussttȝȝhhƞȡȣȣȥȥaaeeooooooooyyȴȵȶȷȸȹⱥȼȼƚⱦȿ"
           "ɀɂɂƀʉʌɇɇɉɉɋɋɍɍɏ"},
    {0x370, "ͱͱͳͳʹ͵ͷͷ  ͺͻͼͽ;ϳ    ΄¨α·εηι ο υωιαβγδεζηθικλμνξοπρ στυφχψωιυαεηι"
            "υαβγδεζηθικλμνξοπρςστυφχψωιυουωϗϐϑϒϒϒϕϖϗϙϙϛϛϝϝϟϟϡϡϣϣϥϥϧϧϩϩϫϫϭϭϯϯ"
            "ϰϱϲϳθϵ϶ϸϸϲϻϻϼͻͼͽ"},
    {0x400,
     "ееђгєѕііјљњћкиуџабвгдежзииклмнопрстуфхцчшщъыьэюяабвгдежзииклмноп"
     "рстуфхцчшщъыьэюяееђгєѕііјљњћкиуџѡѡѣѣѥѥѧѧѩѩѫѫѭѭѯѯѱѱѳѳѵѵѵѵѹѹѻѻѽѽѿѿ"
     "ҁҁ҂       ҋҋҍҍҏҏґґғғҕҕҗҗҙҙққҝҝҟҟҡҡңңҥҥҧҧҩҩҫҫҭҭүүұұҳҳҵҵҷҷҹҹһһҽҽҿҿ"
     "ӏжжӄӄӆӆӈӈӊӊӌӌӎӎӏааааӕӕееәәәәжжззӡӡииииооөөөөээууууууччӷӷыыӻӻӽӽӿӿ"
     "ԁԁԃԃԅԅԇԇԉԉԋԋԍԍԏԏԑԑԓԓԕԕԗԗԙԙԛԛԝԝԟԟԡԡԣԣԥԥԧԧԩԩԫԫԭԭ"
     "ԯ"},
    {0x531, "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ"},
    {0x10a0, "ⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥ ⴧ     ⴭ"},
    {0x13a0, "ꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋ"
             "ꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧ"
             "ꮨꮩꮪꮫꮬꮭꮮꮯ"
             "ꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿᏸᏹᏺᏻᏼᏽ"},
    {0x1c90, "აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺ  ჽჾჿ"},
    {0x1e00, "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm"
             "mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv"
             "wwwwwwwwwwxxxxyyzzzzzzhtwyẚſẜẝßẟaaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee"
             "eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyyỻỻỽỽỿ"},
    {0x1f00, "ααααααααααααααααεεεεεε  εεεεεε  ηηηηηηηηηηηηηηηηιιιιιιιιιιιιιιιι"
             "οοοοοο  οοοοοο  υυυυυυυυ υ υ υ υωωωωωωωωωωωωωωωωααεεηηιιοουυωω  "
             "ααααααααααααααααηηηηηηηηηηηηηηηηωωωωωωωωωωωωωωωωααααα ααααααα᾽ι᾿"
             "῀¨ηηη ηηεεηηη᾿᾿᾿ιιιι  ιιιιιι ῾῾῾υυυυρρυυυυυυρ¨¨`  ωωω ωωοοωωω´"},
};

/* Simple forms of single characters. */
static const uint16_t pairs[][2] = {
    {0x622, 0x627},  {0x623, 0x627}, {0x624, 0x648},   {0x625, 0x627},   {0x626, 0x64a},
    {0x6c0, 0x6d5},  {0x6c2, 0x6c1}, {0x6d3, 0x6d2},   {0x929, 0x928},   {0x931, 0x930},
    {0x934, 0x933},  {0x958, 0x915}, {0x959, 0x916},   {0x95a, 0x917},   {0x95b, 0x91c},
    {0x95c, 0x921},  {0x95d, 0x922}, {0x95e, 0x92b},   {0x95f, 0x92f},   {0x9dc, 0x9a1},
    {0x9dd, 0x9a2},  {0x9df, 0x9af}, {0xa33, 0xa32},   {0xa36, 0xa38},   {0xa59, 0xa16},
    {0xa5a, 0xa17},  {0xa5b, 0xa1c}, {0xa5e, 0xa2b},   {0xb48, 0xb47},   {0xb5c, 0xb21},
    {0xb5d, 0xb22},  {0xcc0, 0xcd5}, {0xcc7, 0xcd5},   {0xcc8, 0xcd6},   {0xcca, 0xcc2},
    {0xdda, 0xdd9},  {0xf43, 0xf42}, {0xf4d, 0xf4c},   {0xf52, 0xf51},   {0xf57, 0xf56},
    {0xf5c, 0xf5b},  {0xf69, 0xf40}, {0x1026, 0x1025}, {0x1b3b, 0x1b35}, {0x1b3d, 0x1b35},
    {0x1b43, 0x1b35}};

const struct unicode *unicode_make(struct arena *a)
{
    struct unicode *u = arena_alloc(a, sizeof *u);
    uint32_t c = 0;

    for (const char *p = classes; *p;) {
        char class = *p++, *end = NULL;
        unsigned long run = *p >= '0' && *p <= '9' ? strtoul(p, &end, 10) : 1;
        if (end) p = end;
        memset(u->class + c, class, run);
        c += (uint32_t)run;
    }
    for (c = 0; c < UNICODE_SIMPLE_N; c++) u->simple[c] = (uint16_t)c;
    for (c = 'A'; c <= 'Z'; c++) u->simple[c] = (uint16_t)(c + 'a' - 'A');
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) u->simple[pairs[i][0]] = pairs[i][1];
    for (size_t i = 0; i < sizeof alphabets / sizeof *alphabets; i++) {
        const char *p = alphabets[i].images, *end = p + strlen(p);
        for (c = alphabets[i].first; p < end; c++) {
            uint32_t image;
            p += text_decode(p, end, &image);
            if (image != ' ') u->simple[c] = (uint16_t)image;
        }
    }
    return u;
}
